package compactor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs/mem"
)

// TestCleanUpDoesNotWaitForTheLimit: what must not be cancelled can't wait for its turn, or a shutdown takes as long.
func TestCleanUpDoesNotWaitForTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &limitedFS{mem.New(), newLimiter(1)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start := time.Now()
		for range 1000 {
			require.NoError(t, store.Remove(context.WithoutCancel(ctx), "mem:///w/a"))
		}
		require.Zero(t, time.Since(start))
		require.NoError(t, store.Remove(ctx, "mem:///w/a"))
		require.Equal(t, 1000*time.Second, time.Since(start), "others pay for it: the first of 1001 is free")
	})
}
