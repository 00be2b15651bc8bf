package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/docschema"
	"github.com/hocket-run/hocket/internal/format"
)

// TestConvert checks that a document is converted to another format with every difference reported,
// and that a conversion that would run differently and documents with errors are rejected.
func TestConvert(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	convert := func(body m) (out httpapi.Converted) {
		w.do("POST", "/api/v1/documents/convert", body).is(200).decode(&out)
		return out
	}
	got := convert(m{"document": poem, "to": "canvas"})
	if got.Refused || got.Format != "canvas" || got.Document == nil ||
		!slices.ContainsFunc(got.Changes, func(c format.Change) bool { return c.Kind == format.ChangeAdded }) {
		t.Fatalf("%+v", got)
	}
	if c := w.compiled(m{"document": *got.Document}); !c.OK || c.Format != "canvas" {
		t.Errorf("%s\n%+v", *got.Document, c)
	}
	if same := convert(m{"document": poem, "from": "steps", "to": "steps"}); same.Document == nil ||
		len(same.Changes) != 0 {
		t.Errorf("%+v", same)
	}
	refused := convert(m{"document": post, "to": "routes"})
	if !refused.Refused || refused.Document != nil ||
		!slices.ContainsFunc(refused.Changes, func(c format.Change) bool { return c.Kind == format.ChangeMeaning }) {
		t.Errorf("%+v", refused)
	}
	w.do("POST", "/api/v1/documents/convert", m{"document": poem, "to": "cobol"}).problem(422, "invalid")
	w.do("POST", "/api/v1/documents/convert", m{"document": poem}).problem(422, "invalid")
	if p := w.do("POST", "/api/v1/documents/convert", m{"document": "workflow: 7\n", "to": "canvas"}).problem(422,
		"invalid"); len(p.Diagnostics) == 0 {
		t.Errorf("%+v", p)
	}
	w.do("POST", "/api/v1/documents/convert", m{"document": strings.Repeat("# a\n", 3<<20), "to": "canvas"}).problem(
		413, "too_large")
}

// TestSchemas checks that the schemas are the published ones.
func TestSchemas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range docschema.Names() {
		var got, want any
		w.do("GET", "/api/v1/schemas/"+name, nil).is(200).decode(&got)
		text, err := docschema.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		answer{t: t, body: string(text)}.decode(&want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if p := w.do("GET", "/api/v1/schemas/step", nil).problem(404, "not_found"); !strings.Contains(p.Detail, "steps") &&
		!strings.Contains(p.Hint, "steps") {
		t.Errorf("%+v", p)
	}
}
