package deploytest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "hocket-deploy-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// built builds the program with the flags of the image, from the module that compose.yaml names where Temporal is used: all else is the same.
var built = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(folder, "hocket")
	cmd := exec.Command("go", "build", "-C", "../../temporal", "-trimpath", "-tags=grpcnotrace", "-ldflags=-s -w", "-o", bin, "./cmd/...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	cmd.Stderr = os.Stderr
	return bin, cmd.Run()
})

func program(t *testing.T) string {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}
