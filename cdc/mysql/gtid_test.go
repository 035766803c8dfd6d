package mysql

import (
	"encoding/binary"
	"testing"
	"time"

	gomysql "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestServerThatLostItsOwnTransactions(t *testing.T) {
	const own, other = "fe501230-ec2d-11f1-a3ef-02fc00000001", "0e501230-ec2d-11f1-a3ef-02fc00000002"
	for _, c := range []struct{ read, executed, missing string }{
		{"", "", ""},
		{"", own + ":1-9", ""},
		{own + ":1-9", own + ":1-9", ""},
		{own + ":1-9", own + ":1-12", ""},
		{own + ":3-9", own + ":1-9", ""},
		{other + ":1-99", own + ":1-9", ""}, // a replica that lags, or another origin
		{own + ":1-9," + other + ":1-99", own + ":1-9," + other + ":1-98", ""},
		{own + ":1-9", "", own + ":9"},
		{own + ":1-9", own + ":1-8", own + ":9"},
		{own + ":1-9:20-30", own + ":1-19", own + ":9:30"},
		{own + ":1-9:tag:1-3", own + ":1-9", own + ":9:tag:3"},
		{own + ":1-9:tag:1-3", own + ":1-9:tag:1-4", ""},
	} {
		read, err := parseGTIDSet(flavorMySQL, c.read)
		require.NoError(t, err)
		executed, err := parseGTIDSet(flavorMySQL, c.executed)
		require.NoError(t, err)
		require.Equal(t, c.missing, read.ownMissing(own, executed), "%+v", c)
	}
	require.Empty(t, gtidSet{}.ownMissing(own, gtidSet{}))
}

// Transactions in any order, of several servers and tags, beside a set that only the library touches.
func TestSetOfTransactions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		first := "0e501230-ec2d-11f1-a3ef-02fc00000000:3-5:9:12-13,0e501230-ec2d-11f1-a3ef-02fc00000001:1-2:a:7-8"
		set, err := parseGTIDSet(flavorMySQL, first)
		require.NoError(rt, err)
		want, err := parseGTIDSet(flavorMySQL, first)
		require.NoError(rt, err)
		in := want.set.(*gomysql.MysqlGTIDSet)
		last := gtid{gno: 1}
		for range rapid.IntRange(1, 60).Draw(rt, "n") {
			id := gtid{is: true, sid: uuid.MustParse("0e501230-ec2d-11f1-a3ef-02fc00000000"), gno: last.gno + 1}
			id.sid[15] = byte(rapid.IntRange(0, 2).Draw(rt, "server"))
			id.tag = gomysql.NewTag(rapid.SampledFrom([]string{"", "", "a"}).Draw(rt, "tag"))
			if rapid.IntRange(0, 3).Draw(rt, "jump") == 0 {
				id.gno = int64(rapid.IntRange(1, 20).Draw(rt, "gno"))
			}
			one, err := parseGTIDSet(flavorMySQL, id.String())
			require.NoError(rt, err)
			require.Equal(rt, want.contains(one), set.has(&id), "%s in %s", id, want)
			if rapid.IntRange(0, 9).Draw(rt, "addAll") == 0 {
				require.NoError(rt, set.addAll(id.String()))
			} else {
				require.NoError(rt, set.add(&id))
			}
			in.AddGTIDWithTag(id.sid, id.tag, id.gno)
			require.True(rt, set.has(&id))
			require.Equal(rt, want.String(), set.String())
			require.Equal(rt, want.String(), set.clone().String())
			last = id
		}
		end, err := parseGTIDSet(flavorMySQL, "0e501230-ec2d-11f1-a3ef-02fc00000000:1-12,0e501230-ec2d-11f1-a3ef-02fc00000002:1:3")
		require.NoError(rt, err)
		if m, found := set.missing(end); found {
			require.False(rt, set.has(&m))
			require.True(rt, end.has(&m))
			require.False(rt, set.contains(end))
		}
	})
}

func TestSetOfMariaDB(t *testing.T) {
	set, err := parseGTIDSet(flavorMariaDB, "0-1-5")
	require.NoError(t, err)
	was := set.clone()
	for _, c := range []struct {
		id   gomysql.MariadbGTID
		want string
	}{
		{gomysql.MariadbGTID{DomainID: 0, ServerID: 2, SequenceNumber: 6}, "0-2-6"},
		{gomysql.MariadbGTID{DomainID: 3, ServerID: 2, SequenceNumber: 1}, "0-2-6,3-2-1"},
		{gomysql.MariadbGTID{DomainID: 3, ServerID: 1, SequenceNumber: 2}, "0-2-6,3-1-2"},
	} {
		id := gtid{is: true, isMaria: true, maria: c.id}
		require.False(t, set.has(&id))
		require.NoError(t, set.add(&id))
		require.True(t, set.has(&id))
		require.Equal(t, c.want, set.String())
	}
	require.Equal(t, "0-1-5", was.String())
}

// GTID events of any length and bytes mean to us what they mean to the library.
func TestGTIDEventsAsTheLibraryReadsThem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.SliceOfN(rapid.Byte(), 0, 70).Draw(rt, "body")
		if len(body) > 25 && rapid.Bool().Draw(rt, "clock") {
			body[25] = 2
		}
		var g replication.GTIDEvent
		var want transaction
		err := safely(func() error { return g.Decode(body) })
		if err == nil {
			if us := g.OriginalCommitTimestamp; us > 0 {
				want.at = time.UnixMicro(int64(us))
			}
			if us := g.ImmediateCommitTimestamp; us > 0 {
				want.logged = time.UnixMicro(int64(us))
			}
			want.id = gtid{is: true, sid: uuid.UUID(g.SID), gno: g.GNO}
		}
		var got transaction
		if err != nil && len(body) >= 25 && len(body) > 42+14 {
			return // the library stumbles over what we don't read
		}
		gotErr := decodeGTID(&event{kind: eventGTID, body: body}, &got)
		require.Equal(rt, err == nil, gotErr == nil, "%v, %v", err, gotErr)
		require.Equal(rt, want, got)
	})
	body := binary.LittleEndian.AppendUint64(nil, 77)
	body = append(binary.LittleEndian.AppendUint32(body, 3), mariaPreparedXA)
	var got transaction
	require.NoError(t, decodeGTID(&event{kind: eventMariaGTID, server: 9, body: body}, &got))
	require.Equal(t, transaction{begun: true, xa: true, id: gtid{is: true, isMaria: true, maria: gomysql.MariadbGTID{DomainID: 3, ServerID: 9, SequenceNumber: 77}}}, got)
	require.ErrorIs(t, decodeGTID(&event{kind: eventMariaGTID, body: body[:12]}, &got), ErrMalformed)
}
