package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

// A service that waits for a warehouse that doesn't exist says so, and not at each look.
func TestAMissingWarehouseIsTold(t *testing.T) {
	root := t.TempDir()
	fsys, err := fs.For(t.Context(), root, nil)
	require.NoError(t, err)
	var log bytes.Buffer
	w := &warehouse{fsys: fsys, log: slog.New(slog.NewTextHandler(&log, nil)), root: root + "/warehose", paths: map[string]string{}}
	told := func(times int) {
		t.Helper()
		names, err := w.List(t.Context())
		require.NoError(t, err)
		require.Empty(t, names)
		require.Equal(t, times, strings.Count(log.String(), "warehose"), log.String())
	}
	told(1)
	told(1)
	w.told = w.told.Add(-tellAgain)
	told(2)
	w.root = root
	told(2)
}
