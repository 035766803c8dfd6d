package s3

import (
	"strings"

	"github.com/paimon-go/paimon-go/fs"
)

// JavaWriterWarning is what a program that commits to tables on S3 has to tell its user when it starts: that a Java
// Paimon job which commits to the same tables can overwrite its snapshots. Empty for other storages, and when the
// setting s3.sole-committer=true says that there is no such job. lock.enabled does not help: it makes Java's writers wait
// for each other, and not for this program.
func JavaWriterWarning(uri string, conf map[string]string) string {
	if s := fs.Scheme(uri); s != "s3" && s != "s3a" {
		return ""
	}
	for _, prefix := range prefixes {
		if strings.EqualFold(strings.TrimSpace(conf[prefix+"sole-committer"]), "true") {
			return ""
		}
	}
	return "tables on S3 must have no other committer of Java Paimon's file system, Hive or JDBC catalog (writer, dedicated compaction, expiry or tag job): " +
		"Java writes snapshots there without a condition and can overwrite ours, with or without lock.enabled. Readers are safe. " +
		"Set s3.sole-committer=true once this is so, and this warning goes away"
}
