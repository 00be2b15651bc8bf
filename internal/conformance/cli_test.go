package conformance_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/model"
)

// shell is the result of a command line.
type shell struct {
	out, err string
	status   int
}

// commandLine runs a command line with a fake model. DOC in args stands for the path of a file that
// contains doc.
func commandLine(t *testing.T, f *fake, doc, in string, args ...string) shell {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "doc")
	if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "DOC", path)
	}
	if !slices.Contains(args, "--db") {
		args = append(args, "--db", filepath.Join(dir, "hocket.db"))
	}
	var out, errs bytes.Buffer
	status := cli.Main(t.Context(), args, cli.Streams{
		In: strings.NewReader(in), Out: &out, Err: &errs,
		Env: env(map[string]string{"OPENAI_API_KEY": "test", "HOCKET_MODEL": "openai/fake"}),
	}, cli.Wiring{Version: "test", Adapters: map[model.Protocol]model.Factory{
		model.ProtocolOpenAI: func(model.Endpoint) (model.Client, error) { return f, nil },
	}})
	return shell{out.String(), errs.String(), status}
}
