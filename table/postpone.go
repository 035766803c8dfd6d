package table

import (
	"fmt"
	"strconv"
	"strings"
)

// PostponePrefix returns what the names of a writer's files in PostponeBucket begin with. Compaction finds the writer in it, whose
// files it keeps in order; a name that Paimon's compaction would not understand is refused.
func PostponePrefix(o Options, user string, writer int) (string, error) {
	prefix := fmt.Sprintf("%s-u-%s", o.Get(KeyDataFilePrefix), user)
	whole := fmt.Sprintf("%s-s-%d-w-", prefix, writer)
	if strings.Index(whole, "-s-") == len(prefix) {
		return whole, nil
	}
	what := KeyDataFilePrefix.Name + "=" + o.Get(KeyDataFilePrefix)
	if strings.Index("-u-"+user+"-s-", "-s-") < len("-u-"+user) {
		what = "the commit user " + user + " (" + KeyCommitUserPrefix.Name + ")"
	}
	return "", fmt.Errorf(`%w: with bucket=-2, %s can't have "-s-" in it: compaction takes what follows in the names of files for the number of their writer`,
		ErrOption, what)
}

// PostponeWriter returns the number of the writer that made a file of PostponeBucket. It is read as Paimon does: from the first "-s-"
// to the next "-".
func PostponeWriter(name string) (int, bool) {
	_, rest, ok := strings.Cut(name, "-s-")
	if !ok {
		return 0, false
	}
	number, _, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(number, 10, 32)
	return int(n), err == nil
}
