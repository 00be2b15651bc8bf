package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/service"
)

// TestPublishedInputs checks X-50: the tool of a workflow with named inputs accepts them by name,
// and get_workflow returns their schema.
func TestPublishedInputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{Workflows: []string{mcpserver.All}}, echoModel)
	doc := "inputs: {city: {title: City}, days: {type: integer, default: 3}}\noutput: \"{{ $input }}\"\nworkflow: " +
		"[{type: set, values: {a: 1}}]\n"
	if _, problems, err := w.service("default").Apply(t.Context(), service.ApplyRequest{ID: "form",
		Documents: []service.Document{{File: "form.yaml", Data: []byte(doc)}}}); err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	c := w.admin(nil)
	const want = `{"additionalProperties":false,"properties":{"city":{"title":"City","type":"string"},` +
		`"days":{"default":3,"type":"integer"}},"required":["city"],"type":"object"}`
	schema := ""
	for tl, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if tl.Name == "form" {
			var in struct {
				Properties struct {
					Input map[string]any `json:"input"`
				} `json:"properties"`
			}
			b, _ := json.Marshal(tl.InputSchema)
			if err := json.Unmarshal(b, &in); err != nil {
				t.Fatal(err)
			}
			delete(in.Properties.Input, "description")
			b, _ = json.Marshal(in.Properties.Input)
			schema = string(b)
		}
	}
	if schema != want {
		t.Errorf("the tool takes %s, want %s", schema, want)
	}
	if b, _ := json.Marshal(c.mustCall("get_workflow", object{"id": "form"})["inputs"]); string(b) != want {
		t.Errorf("get_workflow gives %s, want %s", b, want)
	}
	//
	for _, input := range []any{object{"city": "Ulm"}, object{"city": "Ulm", "days": "4"},
		object{"city": "Ulm", "days": nil}, "Ulm"} {
		if out := c.mustCall("form", object{"input": input}); out["status"] != "completed" {
			t.Errorf("the run with %v: %v", input, out)
		}
	}
}

// TestPublishedInputsTooLarge checks that an input schema that is too large for a tool does not
// stop the server: the tool accepts any object, and the run checks it.
func TestPublishedInputsTooLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{Workflows: []string{mcpserver.All}}, echoModel)
	doc := "inputs:\n"
	for _, name := range []string{"a", "b", "c"} {
		doc += "  " + name + ": {description: " + strings.Repeat("x", 100<<10) + "}\n"
	}
	doc += "workflow: [{type: set, values: {a: 1}}]\n"
	if _, problems, err := w.service("default").Apply(t.Context(), service.ApplyRequest{ID: "large",
		Documents: []service.Document{{File: "large.yaml", Data: []byte(doc)}}}); err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	c := w.admin(nil)
	if out := c.mustCall("large", object{"input": object{"a": "1", "b": "2", "c": "3"}}); out["status"] != "completed" {
		t.Errorf("the run: %v", out)
	}
}
