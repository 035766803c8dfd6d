package fs_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paimon-go/paimon-go/fs"
)

func TestNotPublishedKeepsItsCause(t *testing.T) {
	cause := errors.New("no room")
	err := fs.NotPublished(cause)
	require.ErrorIs(t, err, fs.ErrNotPublished)
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "no room")
}
