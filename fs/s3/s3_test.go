package s3

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

func TestConformance(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	fstest.Run(t, func(t *testing.T) (fs.FileSystem, string) { return newFake(t).open(t), "s3://wh/a/table" }, fstest.ParentsThatAreFiles)
}
