//go:build integration

package soak

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/local"
)

// storage is what the tables lie on.
type storage struct {
	// warehouse is its root as the programs see it, through the proxies; conf are catalog settings, env variables that go with it.
	warehouse string
	conf, env []string
	// direct is what watches and judges use: the same storage without proxies.
	direct          fs.FileSystem
	directWarehouse string
	directConf      []string
	directEnv       []string
	// age makes a file look as if it were of some time, to the judges.
	age func(path string, then time.Time) error
	// kinds are the faults that strike can make. mend ends one, also one that happened at once and takes its time to mend itself.
	kinds  []Kind
	strike func(f Fault) (mend func() error, err error)
}

func openStorage(t *testing.T, o options) *storage {
	switch o.warehouse {
	case "local":
		w := filepath.Join(o.dir, "warehouse")
		return &storage{warehouse: w, direct: local.FS{}, directWarehouse: w, age: ageLocal}
	case "hdfs":
		return openHDFS(t, o)
	case "ha":
		return openHA(t, o)
	case "s3":
		return openS3(t, o)
	}
	require.Fail(t, "WAREHOUSE="+o.warehouse+" is not one of local, hdfs, ha, s3")
	return nil
}

func ageLocal(path string, then time.Time) error {
	return os.Chtimes(strings.TrimPrefix(path, "file://"), then, then)
}

// pairs are the settings k=v as a map.
func pairs(conf []string) map[string]string {
	m := map[string]string{}
	for _, c := range conf {
		k, v, _ := strings.Cut(c, "=")
		m[k] = v
	}
	return m
}
