package mysql

import (
	"fmt"
	"strings"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/cdc"
)

// gtidSet is the set of transactions that came before a point of the log. It is empty and unused for servers without GTIDs.
type gtidSet struct {
	flavor string
	set    gomysql.GTIDSet // nil: no GTIDs
}

func parseGTIDSet(flavor, text string) (gtidSet, error) {
	text = strings.Join(strings.Fields(text), "")
	set, err := gomysql.ParseGTIDSet(flavor, text)
	if err != nil {
		return gtidSet{}, fmt.Errorf("%q is not a set of %s GTIDs: %w: %w", text, flavor, err, cdc.ErrUsage)
	}
	return gtidSet{flavor: flavor, set: set}, nil
}

func (g gtidSet) clone() gtidSet {
	if g.set == nil {
		return g
	}
	return gtidSet{g.flavor, g.set.Clone()}
}

func (g gtidSet) String() string {
	if g.set == nil {
		return ""
	}
	return g.set.String()
}

// contains reports whether all of o is in g.
func (g gtidSet) contains(o gtidSet) bool {
	if o.set == nil || o.set.IsEmpty() {
		return true
	}
	return g.set != nil && g.set.Contain(o.set)
}

// ownMissing returns the transactions of a server's own, those under its server_uuid, that g has and the server hasn't, ""
// for none. A server misses its own when its log was reset, or when it was restored to an older state. What it does from
// then on has the same names as what it has lost, so nothing can go on from g.
func (g gtidSet) ownMissing(server string, executed gtidSet) string {
	all, ok := g.set.(*gomysql.MysqlGTIDSet)
	if !ok || all == nil {
		return ""
	}
	sid, err := uuid.Parse(server)
	if err != nil {
		return ""
	}
	own := gtidSet{g.flavor, &gomysql.MysqlGTIDSet{}}
	for tag, intervals := range (*all)[sid] {
		for _, iv := range intervals {
			(*own.set.(*gomysql.MysqlGTIDSet)).AddGTIDWithTag(sid, tag, iv.Stop-1) // the last one will do
		}
	}
	if executed.contains(own) {
		return ""
	}
	return own.String()
}

// addAll adds a set given as text; used with the lists at the start of each file.
func (g gtidSet) addAll(text string) error {
	if text == "" {
		return nil
	}
	return g.set.Update(text)
}

// gtid names one transaction.
type gtid struct {
	sid     uuid.UUID
	tag     gomysql.Tag
	gno     int64
	maria   gomysql.MariadbGTID
	isMaria bool
	is      bool // false: an anonymous transaction
}

func (t gtid) String() string {
	switch {
	case !t.is:
		return "anonymous"
	case t.isMaria:
		return t.maria.String()
	case t.tag.String() != "":
		return fmt.Sprintf("%s:%s:%d", t.sid, t.tag, t.gno)
	}
	return fmt.Sprintf("%s:%d", t.sid, t.gno)
}

// add puts a transaction into the set.
func (g gtidSet) add(t gtid) error {
	if !t.is || g.set == nil {
		return nil
	}
	if t.isMaria {
		m := t.maria
		return g.set.(*gomysql.MariadbGTIDSet).AddSet(&m)
	}
	g.set.(*gomysql.MysqlGTIDSet).AddGTIDWithTag(t.sid, t.tag, t.gno)
	return nil
}

// has reports whether one transaction is in the set.
func (g gtidSet) has(t gtid) bool {
	if !t.is || g.set == nil {
		return false
	}
	if t.isMaria {
		last, ok := g.set.(*gomysql.MariadbGTIDSet).Sets[t.maria.DomainID]
		return ok && last.SequenceNumber >= t.maria.SequenceNumber
	}
	for _, iv := range (*g.set.(*gomysql.MysqlGTIDSet))[t.sid][t.tag] {
		if t.gno >= iv.Start && t.gno < iv.Stop {
			return true
		}
	}
	return false
}
