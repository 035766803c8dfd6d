package mysql

import (
	"fmt"
	"math"
	"sort"
	"strings"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"

	"github.com/paimon-go/paimon-go/cdc"
)

// gtidSet is the set of transactions that came before a point of the log. It is empty and unused for servers without GTIDs.
type gtidSet struct {
	flavor string
	set    gomysql.GTIDSet // nil: no GTIDs
	near   *nearInterval   // nil: not kept
}

// nearInterval is where the last transaction was found or added: most often the next one follows it, and each look into the set
// goes through two maps.
type nearInterval struct {
	sid  uuid.UUID
	tag  gomysql.Tag
	iv   *gomysql.Interval // in the set; nil: none
	next int64             // where the following interval begins
}

func parseGTIDSet(flavor, text string) (gtidSet, error) {
	text = strings.Join(strings.Fields(text), "")
	set, err := gomysql.ParseGTIDSet(flavor, text)
	if err != nil {
		return gtidSet{}, fmt.Errorf("%q is not a set of %s GTIDs: %w: %w", text, flavor, err, cdc.ErrUsage)
	}
	return gtidSet{flavor, set, &nearInterval{}}, nil
}

func (g gtidSet) clone() gtidSet {
	if g.set == nil {
		return g
	}
	return gtidSet{g.flavor, g.set.Clone(), nil}
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
	own := gtidSet{g.flavor, &gomysql.MysqlGTIDSet{}, nil}
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
	g.moved()
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

// moved forgets what is near: the set's intervals lie elsewhere now.
func (g gtidSet) moved() {
	if g.near != nil {
		*g.near = nearInterval{}
	}
}

// interval returns the interval that has a MySQL transaction or ends just before it, and where the following one begins; nil for
// none.
func (g gtidSet) interval(t *gtid) (*gomysql.Interval, int64) {
	n := g.near
	if n != nil && n.iv != nil && n.sid == t.sid && n.tag == t.tag && t.gno >= n.iv.Start && t.gno <= n.iv.Stop {
		return n.iv, n.next
	}
	all := (*g.set.(*gomysql.MysqlGTIDSet))[t.sid][t.tag]
	i := sort.Search(len(all), func(i int) bool { return all[i].Stop >= t.gno })
	if i == len(all) || t.gno < all[i].Start {
		return nil, 0
	}
	next := int64(math.MaxInt64)
	if i+1 < len(all) {
		next = all[i+1].Start
	}
	if n != nil {
		*n = nearInterval{t.sid, t.tag, &all[i], next}
	}
	return &all[i], next
}

// add puts a transaction into the set.
func (g gtidSet) add(t *gtid) error {
	if !t.is || g.set == nil {
		return nil
	}
	if t.isMaria {
		set := g.set.(*gomysql.MariadbGTIDSet)
		if last := set.Sets[t.maria.DomainID]; last != nil {
			last.ServerID, last.SequenceNumber = t.maria.ServerID, t.maria.SequenceNumber
			return nil
		}
		return set.AddSet(t.maria.Clone())
	}
	switch iv, next := g.interval(t); {
	case iv != nil && t.gno < iv.Stop:
	case iv != nil && t.gno+1 < next:
		iv.Stop++
	default: // a new interval, or two that become one
		g.moved()
		g.set.(*gomysql.MysqlGTIDSet).AddGTIDWithTag(t.sid, t.tag, t.gno)
	}
	return nil
}

// has reports whether one transaction is in the set.
func (g gtidSet) has(t *gtid) bool {
	if !t.is || g.set == nil {
		return false
	}
	if t.isMaria {
		last, ok := g.set.(*gomysql.MariadbGTIDSet).Sets[t.maria.DomainID]
		return ok && last.SequenceNumber >= t.maria.SequenceNumber
	}
	iv, _ := g.interval(t)
	return iv != nil && t.gno < iv.Stop
}

// missing finds a transaction of o, the last of an interval, that g lacks. There may be none though g lacks others.
func (g gtidSet) missing(o gtidSet) (t gtid, found bool) {
	set, ok := o.set.(*gomysql.MysqlGTIDSet)
	if !ok {
		return t, false
	}
	for sid, tags := range *set {
		for tag, intervals := range tags {
			for _, iv := range intervals {
				if t = (gtid{is: true, sid: sid, tag: tag, gno: iv.Stop - 1}); !g.has(&t) {
					return t, true
				}
			}
		}
	}
	return gtid{}, false
}
