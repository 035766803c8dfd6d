package fs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

func TestNearest(t *testing.T) {
	known := []string{"hdfs.connections", "hdfs.retry-time", "hadoop-conf-dir", "s3.endpoint"}
	for name, want := range map[string]string{
		"hdfs.conections": "hdfs.connections", "hdfs.retry_time": "hdfs.retry-time", "hadoop.conf.dir": "hadoop-conf-dir", "hadoop-config-dir": "hadoop-conf-dir",
		"S3.ENDPOINT": "s3.endpoint", "s3.endpiont": "s3.endpoint", "hdfs.x": "", "hadoop.security.authentication": "", "": "",
	} {
		require.Equal(t, want, fs.Nearest(name, known), name)
	}
}
