package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/paimon-go/paimon-go/"

// mayImport says which packages of ours a package may import, besides leaf packages of internal/. The first pattern that
// matches a package counts. Imports point one way: a package is only ever below those that come after it here.
var mayImport = []struct {
	pkg     string // as in path.Match
	imports []string
}{
	{"format/row", nil},
	{"fs", nil},
	{"fs/*", []string{"fs"}},
	{"format", []string{"format/row"}},
	{"format/*", []string{"format", "format/row"}},
	{"table", []string{"format", "format/avro", "format/row", "fs"}},
	{"table/maintenance", []string{"table", "format/row", "fs"}},
	{"lsm/aggregate", []string{"table", "format/row"}},
	{"lsm", []string{"lsm/aggregate", "table", "format", "format/row", "fs"}},
	{"writer/hashindex", nil},
	{"writer", []string{"writer/hashindex", "lsm", "table", "table/maintenance", "format", "format/*", "fs"}},
	{"compactor", []string{"lsm", "table", "table/maintenance", "format", "format/*", "fs"}},
	{"cdc", []string{"format/row", "table"}},
	{"cdc/mysql", []string{"cdc", "cdc/mysql/*", "format/row", "table"}},
	{"cdc/mysql/*", []string{"cdc", "cdc/mysql/*", "format/row", "table"}},
	{"internal/testkit", []string{"*", "*/*"}},
	{"internal/obs", []string{"table", "lsm", "writer", "compactor", "cdc"}},
	{"internal/*", nil},
	{"cmd/*", []string{"*", "*/*", "*/*/*"}},
	{"cmd/*/*", []string{"*", "*/*", "*/*/*"}},
	{"integration", []string{"*", "*/*", "*/*/*"}},
	{"integration/*", []string{"*", "*/*", "*/*/*"}},
	{"integration/*/*", []string{"*", "*/*", "*/*/*"}},
}

// notImport are packages of others that are kept out, with the reason.
var notImport = []struct{ prefix, but, why string }{
	{"github.com/apache/arrow-go/v18/parquet/pqarrow", "", "it brings grpc and boxes values; use parquet/file"},
	{"github.com/apache/arrow-go/v18/arrow/compute", "", "it brings a second engine"},
	{"github.com/apache/arrow-go", "format/parquet integration/bench", "Parquet is format/parquet's matter"},
	{"github.com/hamba/avro", "format/avro", "Avro is format/avro's matter"},
	{"github.com/go-mysql-org/go-mysql", "cdc/mysql integration", "a program that embeds the writer links no MySQL client"},
	{"github.com/pingcap/tidb", "cdc/mysql/ddl", "the DDL parser is large"},
	{"github.com/aws", "fs/s3", "a program that embeds the writer links the SDK only if it imports fs/s3"},
	{"github.com/prometheus", "internal/obs cmd", "libraries report to a Listener"},
	{"github.com/alecthomas/kong", "cmd", "libraries have no flags"},
	{"github.com/stretchr/testify", "fs/fstest internal/testkit integration", "tests only"},
	{"log", "cmd", "libraries get a slog handle"},
	{"flag", "cmd integration", "libraries have no flags"},
}

type goPackage struct {
	ImportPath string
	Dir        string
	Imports    []string
}

func (p goPackage) name() string { return strings.TrimPrefix(p.ImportPath, module) }

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	var pkgs []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		pkgs = append(pkgs, p)
	}
	require.NotEmpty(t, pkgs)
	return pkgs
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		allowed, known := importsOf(p.name())
		if !known {
			t.Errorf("%s stands in no row of the table of packages", p.name())
		}
		for _, imp := range p.Imports {
			ours, ok := strings.CutPrefix(imp, module)
			if !ok || matchesAny(allowed, ours) {
				continue
			}
			if leaf := strings.HasPrefix(ours, "internal/") && ours != "internal/testkit" && ours != "internal/obs"; !leaf {
				t.Errorf("%s may not import %s", p.name(), ours)
			}
		}
	}
}

func TestForeignPackagesStayWhereTheyBelong(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for _, not := range notImport {
				std := !strings.Contains(not.prefix, ".") // a package of the standard library is meant alone
				if imp != not.prefix && (std || !strings.HasPrefix(imp, not.prefix+"/")) {
					continue
				}
				if !below(p.name(), strings.Fields(not.but)) {
					t.Errorf("%s may not import %s: %s", p.name(), imp, not.why)
				}
			}
		}
	}
}

func importsOf(pkg string) ([]string, bool) {
	for _, row := range mayImport {
		if matchesAny([]string{row.pkg}, pkg) {
			return row.imports, true
		}
	}
	return nil, false
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

func below(pkg string, dirs []string) bool {
	for _, d := range dirs {
		if pkg == d || strings.HasPrefix(pkg, d+"/") {
			return true
		}
	}
	return false
}
