package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/service"
)

// TestKeysWithoutEffect checks that toolset keys without an effect are reported by name in every
// form of document, and that the toolset works.
func TestKeysWithoutEffect(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, doc string }{
		{format.Steps, "agents: {root: {model: openai/x, instruction: Look., toolsets: [{type: think}, {type: todo, " +
			"defer: true, model: fast}]}}"},
		{
			format.Canvas,
			`{"nodes": [{"id": "s", "type": "start", "x": 0, "y": 0, "data": {}}, {"id": "a", "type": "agent", "x": ` +
				`0, "y": 0,
			"data": {"agentName": "root", "model": "openai/x", "toolsets": [{"type": "think"}, {"type": "todo", ` +
				`"defer": true, "model": "fast"}]}}],
			"connections": [{"source": "s", "target": "a"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			w, ds, err := s.Load(t.Context(), "d.yaml", []byte(test.doc), service.LoadOptions{Format: test.name})
			if err != nil || ds.HasErrors() {
				t.Fatal(err, ds)
			}
			for _, key := range []string{"defer", "model"} {
				if n := strings.Count(fmt.Sprint(ds),
					fmt.Sprintf("toolset 2: %q has no effect on a toolset of type todo", key)); n != 1 {
					t.Errorf("%s is reported %d times: %v", key, n, ds)
				}
			}
			replies := `{"replies": [{"toolCalls": [{"name": "create_todo", "arguments": {"description": "x"}}]}, ` +
				`{"text": "Done."}]}`
			if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: "r", Input: "go",
				Files: service.Files{Replies: []byte(replies)}}); err != nil {
				t.Fatal(err)
			}
			if o := ended(t, s, "r"); o.Status != event.StatusCompleted || string(o.Output) != `"Done."` {
				t.Errorf("status %s, output %s, error %v", o.Status, o.Output, o.Error)
			}
		})
	}
}

// TestToolsets_DockerCatalog checks that a reference to Docker's catalog is reported where it is
// used, even if it is under mcps.
func TestToolsets_DockerCatalog(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"in the toolset": "agents: {root: {model: openai/x, instruction: Look., toolsets: [{type: mcp, ref: " +
			"'docker:brave'}]}}",
		"under mcps": "mcps: {search: {ref: 'docker:brave'}}\nagents: {root: {model: openai/x, instruction: " +
			"Look., toolsets: [{type: mcp, ref: search}]}}",
	} {
		_, ds, err := inMemory(t).Load(t.Context(), "d.yaml", []byte(doc), service.LoadOptions{})
		if err != nil || ds.HasErrors() || len(ds) != 1 ||
			!strings.Contains(ds[0].Message, `("docker:brave") are not supported yet`) || ds[0].Span.Start.Line == 0 {
			t.Errorf("%s: %v %v", name, err, ds)
		}
	}
}
