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

// built holds the programs, built with the flags of the image, by the module that compose.yaml
// names.
var built = map[string]func() (string, error){"": build(""), "temporal": build("temporal")}

func build(module string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		bin := filepath.Join(folder, "hocket"+module)
		cmd := exec.Command("go", "build", "-C", filepath.Join("..", "..", module), "-trimpath", "-tags=grpcnotrace",
			"-ldflags=-s -w", "-o", bin, "./cmd/...")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		cmd.Stderr = os.Stderr
		return bin, cmd.Run()
	})
}

func program(t *testing.T, module string) string {
	t.Helper()
	bin, err := built[module]()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}
