package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type grammar struct {
	DoThis struct {
		Config string   `name:"config"`
		DryRun bool     `name:"dry-run"`
		A      string   `name:"a"`
		KV     []string `name:"k-v" sep:"none"`
	} `cmd:"" name:"do-this"`
	Other struct {
		Only string `name:"only-other"`
	} `cmd:"" name:"other"`
}

func TestFlinkLinesAreUnderstood(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(file, []byte("a: file\nonly_other: x\nk_v: {x: 1, y: a=b}\n"), 0o600))
	var g grammar
	k, err := Program{Name: "p"}.Parse(&g, []string{"do_this", "--config", file, "--dry_run", "true", "--k_v", "under_score=1"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "do-this", k.Command())
	require.True(t, g.DoThis.DryRun)
	require.Equal(t, "file", g.DoThis.A)
	require.Equal(t, []string{"x=1", "y=a=b", "under_score=1"}, g.DoThis.KV)
	g = grammar{}
	_, err = Program{Name: "p"}.Parse(&g, []string{"do-this", "--dry-run", "false", "--a", "true"}, io.Discard)
	require.NoError(t, err)
	require.False(t, g.DoThis.DryRun)
	require.Equal(t, "true", g.DoThis.A)
	require.NoError(t, os.WriteFile(file, []byte("nobody: x\n"), 0o600))
	_, err = Program{Name: "p"}.Parse(&g, []string{"do-this", "--config", file}, io.Discard)
	require.ErrorIs(t, err, ErrUsage)
	k, err = Program{Name: "p"}.Parse(&g, nil, io.Discard)
	require.NoError(t, err)
	require.Nil(t, k, "the help was printed")
}

func TestReportSaysTheCodeAndWhatToDo(t *testing.T) {
	classes := []Class{{Is: Wraps(ErrUsage), Code: ExitUsage, What: "usage; do better"}, {Is: StorageFailed, Code: ExitStorage, What: "storage"}}
	for _, c := range []struct {
		err  error
		code int
		last string
	}{
		{nil, ExitDone, ""}, {fmt.Errorf("x: %w", ErrUsage), ExitUsage, "exit 2: usage; do better\n"}, {table.ErrConflict, ExitStorage, "exit 7: storage\n"},
		{fs.ErrTransient, ExitStorage, "exit 7: storage\n"}, {errors.New("odd"), ExitInternal, "exit 1: internal error; report it\n"},
	} {
		var out bytes.Buffer
		require.Equal(t, c.code, Report(&out, c.err, classes, "report it"))
		if c.err != nil {
			text := strings.TrimSuffix(c.err.Error(), ": "+ErrUsage.Error()) // the last line says so
			require.Equal(t, "error: "+text+"\n"+c.last, out.String())
		}
	}
}

func TestNamesOfTablesAreDirectories(t *testing.T) {
	require.NoError(t, Required("/w", Name{"database", "d"}, Name{"table", "t-1"}))
	for _, bad := range []string{"", ".", "..", "a/b", "t$files"} {
		require.ErrorIs(t, Required("/w", Name{"table", bad}), ErrUsage, bad)
	}
	require.ErrorIs(t, Required(""), ErrUsage)
}

func TestKeysInTheWarehouseAreNotPrinted(t *testing.T) {
	_, _, _, err := Storage(t.Context(), "--warehouse", "s3a://AKIA:hidden@bucket/w", nil)
	require.ErrorIs(t, err, ErrUsage)
	require.ErrorContains(t, err, "--warehouse s3a://***@bucket/w")
	require.NotContains(t, err.Error(), "AKIA")
	require.NotContains(t, err.Error(), "hidden")
}

func TestEndpointTellsReadiness(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	var waiting atomic.Bool
	ready := func() error {
		if waiting.Load() {
			return errors.New("not yet")
		}
		return nil
	}
	e := Serve(l, prometheus.NewGauge(prometheus.GaugeOpts{Name: "answer"}), ready, slog.New(slog.DiscardHandler))
	status := func(path string) int {
		r, err := http.Get("http://" + l.Addr().String() + path)
		require.NoError(t, err)
		defer r.Body.Close()
		return r.StatusCode
	}
	defer http.DefaultClient.CloseIdleConnections()
	require.Equal(t, 200, status("/metrics"))
	require.Equal(t, 200, status("/readyz"))
	waiting.Store(true)
	require.Equal(t, 503, status("/readyz"))
	require.Equal(t, 200, status("/healthz"))
	require.NoError(t, e.Close())
	require.NoError(t, (*Endpoint)(nil).Close())
	_, err = Listen("nowhere:1")
	require.ErrorIs(t, err, ErrUsage)
}
