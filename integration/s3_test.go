//go:build integration

package integration

import (
	"testing"

	"github.com/paimon-go/paimon-go/integration/testkit"
)

// Java writes no snapshot while we do: on S3 its commit replaces.
func TestSinkOnS3(t *testing.T) {
	t.Run("killed in the initial read", func(t *testing.T) { killedInTheInitialRead(t, testkit.OnS3) })
	t.Run("killed while streaming", func(t *testing.T) { killedWhileStreaming(t, testkit.OnS3) })
	t.Run("killed while Java compacts and expires", func(t *testing.T) { killedWhileJavaCompactsAndExpires(t, testkit.OnS3) })
	t.Run("sink and compactor killed", func(t *testing.T) { sinkAndCompactorKilled(t, testkit.OnS3) })
	t.Run("two compactors leave nothing", func(t *testing.T) { twoOfOursLeaveNothing(t, testkit.OnS3) })
	t.Run("a second instance is fenced", func(t *testing.T) { secondInstanceIsFenced(t, testkit.OnS3) })
	t.Run("all types", func(t *testing.T) { allTypesFromTableAndLog(t, testkit.OnS3, "parquet") })
}
