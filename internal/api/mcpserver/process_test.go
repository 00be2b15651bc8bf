package mcpserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/providers"
)

// modeVar is the environment variable that makes this test binary act as the command line.
const modeVar = "HOCKET_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(modeVar) != "" {
		os.Exit(cli.Process(cli.Wiring{Version: "v0-test", Adapters: providers.Adapters(nil)}))
	}
	os.Exit(m.Run())
}

// command returns the command line as a process with its own store and home, and with models that
// echo.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, append(args, "--db", filepath.Join(dir, "hocket.db"))...)
	c.Dir, c.Stderr = dir, os.Stderr
	c.Env = []string{
		modeVar + "=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "OPENAI_API_KEY=test",
		"HOCKET_MODEL=openai/fake",
		"OPENAI_BASE_URL=" + modeltest.Start(t, echoModel).BaseURL(),
	}
	return c
}

// process opens a session with `hocket mcp` in a separate process, which ends with the test.
func process(t *testing.T, opts *sdk.ClientOptions, args ...string) *client {
	t.Helper()
	return connect(t, &sdk.CommandTransport{Command: command(t, t.TempDir(), append([]string{"mcp"}, args...)...)},
		opts)
}
