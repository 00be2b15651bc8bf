package format_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format"
)

const suggestionsFile = "../../web/src/canvas/testdata/suggestions.json"

// TestSuggestions checks that what the page suggests in the fields of its forms is accepted there,
// and that these fields support expressions: an expression that names an unknown step is reported.
// The file is written by web/src/canvas/suggestions.test.ts.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(suggestionsFile)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Documents []json.RawMessage
		Cases     []struct {
			Document int
			Path     []any
			Texts    []string
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Documents) < 3 || len(file.Cases) < 40 {
		t.Fatalf("%d documents and %d cases", len(file.Documents), len(file.Cases))
	}
	for _, c := range file.Cases {
		read := func(text string) diag.List {
			var doc any
			if err := json.Unmarshal(file.Documents[c.Document], &doc); err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(put(doc, c.Path, text))
			if err != nil {
				t.Fatal(err)
			}
			_, diags := format.Read("in.json", data, format.Options{})
			return diags
		}
		at := fmt.Sprintf("document %d, %v", c.Document, c.Path)
		if len(c.Texts) == 0 {
			t.Fatalf("%s: nothing is offered", at)
		}
		texts := c.Texts
		if all := strings.Join(texts, " "); c.Path[len(c.Path)-1] != "if" && !read(all).HasErrors() {
			texts = nil // all are accepted at once, in one text that may hold many expressions
		}
		for _, text := range texts {
			if diags := read(text); diags.HasErrors() {
				t.Errorf("%s: %s: %s", at, text, diags.Error())
			}
		}
		if diags := read("{{ $steps.nope.output || $input.nope }}"); !slices.ContainsFunc(diags,
			func(d diag.Diagnostic) bool {
				// a wrong type does not count
				return slices.Contains([]string{"unknown-step", "bad-reference", "not-replaced"}, d.Code)
			}) {
			t.Errorf("%s holds no expressions: %v", at, diags)
		}
	}
}

// put returns v with a text set at a path, creating missing parts of the path.
func put(v any, path []any, text string) any {
	if len(path) == 0 {
		return text
	}
	if i, ok := path[0].(float64); ok {
		list := v.([]any)
		list[int(i)] = put(list[int(i)], path[1:], text)
		return list
	}
	m, ok := v.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	m[path[0].(string)] = put(m[path[0].(string)], path[1:], text)
	return m
}
