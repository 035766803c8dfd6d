//go:build integration

package mysql
import ("testing")
func TestDbg(t *testing.T) {
	c := record(t, []string{"CREATE TABLE t (id int primary key, v varchar(20), e enum('a','b'))"}, []string{"INSERT INTO t VALUES (1,'x','b')"})
	for _, e := range c.events { t.Logf("%d %x", e.kind, e.body) }
	for _, e := range c.packets { t.Logf("%x",  e) }
}
