package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/errcode"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/server"
)

// hintLikeNames draws user-defined names that look like hints: words that differ between
// transports, and whole hints of the tables.
func hintLikeNames(hints []string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		words := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(hints), rapid.SampledFrom([]string{
			"and --id says", "say one with --id", "in the field branch", "give it with --agents", "{id}", "{cause}",
			"$1", "publish it with `hocket workflows publish x`, or use --draft",
			"publish it with `POST /api/v1/workflows/x/publish`, or ask for its draft in the field draft", "; hint: x",
			"did you mean x?", "%!s(MISSING)",
		})), 1, 2).Draw(t, "words")
		return rapid.StringMatching(`[a-z]{3,5}`).Draw(t, "begin") + " " + strings.Join(words, " ") +
			rapid.StringMatching(`[a-z]{0,2}`).Draw(t, "end")
	})
}

// TestErrors_UserDataUnchanged checks that names that look like the words of a hint are returned as
// they were sent, by all three transports, each of which adds a hint in its own words.
func TestErrors_UserDataUnchanged(t *testing.T) {
	t.Parallel()
	var hints []string
	for _, e := range errcode.Entries() {
		for _, h := range e.Hints {
			if h != "" {
				hints = append(hints, h)
			}
		}
	}
	for _, r := range errcode.Remedies {
		hints = append(hints, r[:]...)
	}
	s := serve(t, server.Config{})
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{
			Endpoint:   s.url + "/mcp",
			HTTPClient: &http.Client{Transport: headerClient{"Authorization": {"Bearer " + token}}},
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	const single = `{"id": "w", "name": "W", "nodes": [{"id": "s", "type": "start", "data": {"initialInput": "x"}}], ` +
		`"connections": []}`
	dir := t.TempDir()
	file, alone := filepath.Join(dir, "w.json"), filepath.Join(dir, "alone.json")
	if err := os.WriteFile(alone, []byte(single), 0o600); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		agent := hintLikeNames(hints).Draw(r, "agent")
		doc, err := json.Marshal(
			map[string]any{"id": "w",
				"nodes": []any{map[string]any{"id": "n", "type": "agent", "config": map[string]any{"agentId": agent}}},
				"edges": []any{}})
		if err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(file, doc, 0o600); err != nil {
			r.Fatal(err)
		}
		want := "Agent not found: " + agent
		body, _ := json.Marshal(map[string]any{"document": string(doc)})
		var overHTTP struct{ Diagnostics, Problems []diag.Diagnostic }
		rec := s.ask(t, "POST", "/api/v1/workflows/w/validate", string(body), func(q *http.Request) {
			q.Header.Set("Content-Type", "application/json")
		})
		if err := json.Unmarshal(rec.Body.Bytes(), &overHTTP); err != nil {
			r.Fatalf("%s: %v", rec.Body, err)
		}
		requireProblem(r, "HTTP", overHTTP.Diagnostics, want, errcode.Remedies[diag.DefineAgent][errcode.HTTP])

		res, err := session.CallTool(t.Context(),
			&sdk.CallToolParams{Name: "validate_workflow", Arguments: map[string]any{"document": string(doc)}})
		if err != nil {
			r.Fatal(err)
		}
		text, _ := json.Marshal(res.StructuredContent)
		var tool struct{ Diagnostics, Problems, Findings []diag.Diagnostic }
		if err := json.Unmarshal(text, &tool); err != nil {
			r.Fatalf("%s: %v", text, err)
		}
		requireProblem(r, "MCP", append(append(tool.Diagnostics, tool.Problems...), tool.Findings...), want,
			errcode.Remedies[diag.DefineAgent][errcode.Tools])

		var out bytes.Buffer
		run := func(args ...string) string {
			var errs bytes.Buffer
			out.Reset()
			env := func(name string) string {
				return map[string]string{"HOCKET_TOKEN": token, "HOCKET_DB": filepath.Join(dir, "none.db")}[name]
			}
			cli.Main(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs,
				Env: env}, cli.Wiring{Version: "test"})
			return errs.String()
		}
		said := run("validate", file) + out.String()
		if hint := errcode.Remedies[diag.DefineAgent][errcode.Command]; !strings.Contains(said, want) ||
			!strings.Contains(said, hint) {
			r.Fatalf("the command line says %q, want %q and %q", said, want, hint)
		}

		// the name of a branch, over the wire: the server's error, formatted for the command line
		// and for HTTP
		branch := hintLikeNames(hints).Draw(r, "branch")
		start, _ := json.Marshal(map[string]any{"document": single, "branch": branch})
		rec = s.ask(t, "POST", "/api/v1/runs", string(start), func(q *http.Request) {
			q.Header.Set("Content-Type", "application/json")
		})
		var p struct {
			Detail, Reason string
			Fields         map[string]any
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || !strings.Contains(p.Detail,
			strconv.Quote(branch)) || p.Reason != string(errcode.NoBranches) || p.Fields["branch"] != branch {
			r.Fatalf("HTTP says %s, want the branch %q", rec.Body, branch)
		}
		if said := run("run", alone, "--branch", branch, "--server", s.url); !strings.Contains(said,
			strconv.Quote(branch)) {
			r.Fatalf("the command line says %q, want the branch %q", said, branch)
		}
	})
}

// requireProblem fails unless a problem has the given message and hint.
func requireProblem(t *rapid.T, at string, list []diag.Diagnostic, message, hint string) {
	for _, d := range list {
		if d.Message == message && d.Hint == hint {
			return
		}
	}
	t.Fatalf("%s says %+v, want %q and %q", at, list, message, hint)
}
