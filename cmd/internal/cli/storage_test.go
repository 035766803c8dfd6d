package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

// A storage that can't be opened is a wrong argument only when it is not the storage that fails, or an end was asked for.
func TestStorageThatCantBeOpened(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		err   error
		usage bool
	}{
		{t.Context(), errors.New("no such setting"), true}, {t.Context(), fs.ErrNotExist, true},
		{t.Context(), fs.ErrPermission, false}, {t.Context(), fs.ErrTransient, false}, {ended, context.Canceled, false},
	} {
		fs.Register("refusing", func(ctx context.Context, _ string, _ map[string]string) (fs.FileSystem, error) {
			require.Equal(t, c.ctx.Err(), ctx.Err())
			return nil, c.err
		})
		_, _, _, err := Storage(c.ctx, "--warehouse", "refusing://x/w", nil)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.usage, errors.Is(err, ErrUsage), "%v", err)
	}
}
