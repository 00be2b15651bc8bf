package hocket_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket"

	"github.com/hocket-run/hocket/documents"
)

func configured(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hocket.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWithConfig checks that an engine uses the operator's file as the command line does: the
// default model, permissions (SEC12), budgets (P20), prices (D14) and the path of the store.
func TestWithConfig(t *testing.T) {
	t.Parallel()
	path := configured(t, `
defaultModel: own/m
permissions: {deny: [lookup]}
budgets: {run: {calls: 3}}
prices: prices.yaml
store: {path: kept/runs.db}
`)
	folder := filepath.Dir(path)
	if err := os.WriteFile(filepath.Join(folder, "prices.yaml"),
		[]byte("prices: [{models: [own/m], input: 1000, output: 0}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var seen atomic.Pointer[hocket.ModelRequest]
	e, err := hocket.Open(t.Context(), hocket.Config{Env: func(string) string { return "" }}, documents.All(),
		hocket.WithConfig(path),
		hocket.WithModel("own", echo(&seen)), hocket.WithTool("lookup", "Looks up a word.", lookup))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	run := func(doc string) *hocket.RunInfo {
		t.Helper()
		w, err := e.Parse("w.yaml", []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "x"})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := run("agents: {a: {instruction: Greet.}}"); r.Text() != "so x" || r.Usage.CostUSD == nil ||
		*r.Usage.CostUSD != 0.003 {
		t.Errorf("%q, usage %+v", r.Text(), r.Usage)
	}
	if r := run(writerDoc); !strings.Contains(r.Text(), "forbid") {
		t.Errorf("the tool was called: %q", r.Text())
	}
	many := "agents: {a: {instruction: Greet.}}\nworkflow:\n" + strings.Repeat("  - {type: agent, name: a}\n", 4)
	if r := run(many); r.Status != hocket.StatusFailed || r.Usage.ModelCalls != 3 || r.Err == nil ||
		!strings.Contains(r.Err.Error(), "budget") {
		t.Errorf("%s, usage %+v, error %v", r.Status, r.Usage, r.Err)
	}
	if _, err := os.Stat(filepath.Join(folder, "kept", "runs.db")); err != nil {
		t.Error(err)
	}
}

// TestWithConfigWrong checks that an error in the file prevents an engine from being created and is
// reported with its position, and that a program's own settings take precedence.
func TestWithConfigWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ path, err string }{
		"no path":      {"", "path of the configuration is empty"},
		"no file":      {filepath.Join(t.TempDir(), "no.yaml"), "no such file"},
		"unknown key":  {configured(t, "default_model: x\n"), "hocket.yaml:1:1: error: unknown key \"default_model\""},
		"bare secret":  {configured(t, "providers: {lab: {key: sk-canary}}\n"), "reference to a secret"},
		"no prices":    {configured(t, "prices: no.yaml\n"), "no.yaml"},
		"wrong prices": {configured(t, "prices: hocket.yaml\n"), "hocket.yaml:1:9: error: expected a list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithConfig(tt.path))
			if err == nil {
				t.Fatal(e.Close())
			}
			if !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %v, want %q", err, tt.err)
			}
		})
	}
	path := configured(t, "store: {path: kept.db}\n")
	e, err := hocket.Open(t.Context(), hocket.Config{DB: hocket.Memory}, documents.All(), hocket.WithConfig(path))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "kept.db")); err == nil {
		t.Error("the program's own store did not win")
	}
}
