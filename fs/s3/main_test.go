package s3

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/paimon-go/paimon-go/fs"
	"github.com/paimon-go/paimon-go/fs/fstest"
)

func TestMain(m *testing.M) {
	fstest.Racer(func(string) (fs.FileSystem, error) {
		return New(context.Background(), Config{Endpoint: os.Getenv("PAIMON_GO_S3"), PathStyle: true, AccessKey: "test", SecretKey: "testsecret"})
	})
	goleak.VerifyTestMain(m)
}
