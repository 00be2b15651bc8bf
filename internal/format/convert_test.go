package format_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/format/lost"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// corpus returns the workflows of all documents without errors in the readers' archives, ordered by
// name.
func corpus(t testing.TB) []*workflow.Workflow {
	t.Helper()
	var agents []workflow.Agent
	for id := range strings.FieldsSeq(
		"a1 a2 beside agent-uuid-router agent-uuid-rc2 agent-uuid-dm2 agent-uuid-2n writer critic") {
		agents = append(agents, workflow.Agent{ID: id, Name: id})
	}
	var out []*workflow.Workflow
	found := map[string]int{}
	for _, d := range formattest.Documents(t, "*/testdata/*.txtar", "*/testdata/*/*.txtar") {
		if w, diags := format.Read(d.Name, d.Data, format.Options{Agents: agents}); w != nil && !diags.HasErrors() {
			out = append(out, w)
			found[w.Format]++
		}
	}
	for _, name := range format.Names() {
		if found[name] < 10 {
			t.Fatalf("the archives hold %d good documents of %s, want at least 10", found[name], name)
		}
	}
	return out
}

// mustRead reads a document written by Write.
func mustRead(t fataler, name string, data []byte) *workflow.Workflow {
	w, diags := format.Read(name, data, format.Options{Format: name})
	if diags.HasErrors() {
		t.Fatalf("Write made a %s document that Read refuses:\n%s\n%s", name, data, diags.Error())
	}
	return w
}

type fataler interface{ Fatalf(string, ...any) }

func mustDigest(t fataler, w *workflow.Workflow) string {
	d, err := w.Digest()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d
}

// checkConvert checks for every format that either it is reported that the format cannot express
// part of w, or w reads back unchanged. It returns the formats that can express all of w.
func checkConvert(t fataler, w *workflow.Workflow) []string {
	own, beyond, err := format.Write(w, w.Format)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var expressible []string
	for _, name := range format.Names() {
		data, unsupported, err := format.Write(w, name)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if len(unsupported) > 0 {
			continue
		}
		back := mustRead(t, name, data)
		if name != w.Format {
			if len(beyond) > 0 {
				continue // a workflow that its own format cannot express cannot be read back in it
			}
			again, unsupported, err := format.Write(back, w.Format)
			if err != nil || len(unsupported) > 0 {
				t.Fatalf("%s expresses all of this %s document, but converting back loses %v %v\n%s\n%s", name,
					w.Format, unsupported, err, own, data)
			}
			back = mustRead(t, w.Format, again)
		}
		if mustDigest(t, back) != mustDigest(t, w) {
			t.Fatalf("%s reports nothing unsupported, but the document read back differs (-before +after):\n%s\n%s",
				name, cmp.Diff(workflow.Print(w), workflow.Print(back)), data)
		}
		expressible = append(expressible, name)
	}
	return expressible
}

// TestConvertCorpus converts every document of the archives to every format and back (P29).
func TestConvertCorpus(t *testing.T) {
	t.Parallel()
	for _, w := range corpus(t) {
		if expressible := checkConvert(t, w); !slices.Contains(expressible, w.Format) {
			_, unsupported, _ := format.Write(w, w.Format)
			t.Errorf("%s: its own format %s cannot express %v", w.Source.File, w.Format, unsupported)
		}
	}
}

// TestConvert_ReportsLosses modifies workflows of all formats in arbitrary places, so that they
// contain what no document of their format can, and checks that whatever a format cannot express is
// reported: otherwise it must read back.
func TestConvert_ReportsLosses(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	tried, named := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SampledFrom(all).Draw(t, "workflow")
		w := clone(t, before)
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			change(t, reflect.ValueOf(w).Elem(), "workflow")
		}
		w = clone(t, w) // as in JSON: an empty list and none are the same
		if workflow.Validate(w).HasErrors() || !slices.Contains(format.Names(), w.Format) {
			return
		}
		if found, differ := lost.Compare(before, w),
			mustDigest(t, before) != mustDigest(t, w); (len(found) > 0) != differ {
			t.Fatalf("the digests differ: %v; the parts that differ: %v\n%s", differ, found,
				cmp.Diff(workflow.Print(before), workflow.Print(w)))
		}
		tried++
		if expressible := checkConvert(t, w); !slices.Contains(expressible, w.Format) {
			named++
		}
	})
	least := 20
	if testing.Short() { // then rapid tries a fifth of the cases
		least /= 5
	}
	if tried < least || named == 0 {
		t.Errorf("%d workflows were tried, of which %d said more than their language: too few", tried, named)
	}
}

func clone(t fataler, w *workflow.Workflow) *workflow.Workflow {
	data, err := w.Canonical()
	if err != nil {
		t.Fatalf("%v", err)
	}
	out, err := workflow.Parse(data)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

var (
	rawType      = reflect.TypeFor[json.RawMessage]()
	sourceType   = reflect.TypeFor[workflow.Source]()
	workflowType = reflect.TypeFor[workflow.Workflow]()
)

// change changes one thing somewhere in v.
func change(t *rapid.T, v reflect.Value, label string) {
	switch v.Kind() {
	case reflect.Struct:
		var fields []int
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Type != sourceType && f.Name != "Format" {
				fields = append(fields, i)
			}
		}
		i := rapid.SampledFrom(fields).Draw(t, label)
		change(t, v.Field(i), v.Type().Field(i).Name)
	case reflect.Pointer:
		if v.IsNil() {
			if v.Type().Elem() == workflowType {
				return
			}
			v.Set(reflect.New(v.Type().Elem()))
		} else if rapid.IntRange(0, 3).Draw(t, label+" nil") == 0 {
			v.SetZero()
			return
		}
		change(t, v.Elem(), label)
	case reflect.Slice:
		changeSlice(t, v, label)
	case reflect.Map:
		key := reflect.ValueOf(rapid.SampledFrom([]string{"x", "y"}).Draw(t, label)).Convert(v.Type().Key())
		if v.Type().Elem().Kind() == reflect.Pointer {
			return // sub-flows
		}
		value := reflect.New(v.Type().Elem()).Elem()
		change(t, value, label)
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{
			"", "x", "n1", "a1", "a", "out", "next:x", "tool:x", "calls", "error", "END", "fail_fast", "fail_drain",
			"collect", "any", "map", "shared", "template",
			"context", "turns", "match", "expr", "question", "approval", "agent", "exec", "end", "wait", "start",
			"decide", " ", "{{PREVIOUS_OUTPUT}}",
		}).Draw(t, label))
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.SampledFrom([]int64{0, 1, 3, 15, 20, 50, 1_000_000, 90_000_000_000}).Draw(t, label))
	case reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, label))
	}
}

func changeSlice(t *rapid.T, v reflect.Value, label string) {
	if v.Type() == rawType {
		v.SetBytes([]byte(rapid.SampledFrom([]string{`""`, `"x"`, `{}`, `{"type":"think"}`, `{"type":"object"}`, `1`}).
			Draw(t, label)))
		return
	}
	n := v.Len()
	what := 0
	if n > 0 {
		what = rapid.IntRange(0, 9).Draw(t, label+" item")
	}
	switch what {
	case 0:
		item := reflect.New(v.Type().Elem()).Elem()
		if v.Type().Elem().Kind() != reflect.Pointer {
			change(t, item, label)
			v.Set(reflect.Append(v, item))
		}
	case 1:
		i := rapid.IntRange(0, n-1).Draw(t, label+" removed")
		v.Set(reflect.AppendSlice(v.Slice3(0, i, i), v.Slice(i+1, n)))
	case 2:
		i, j := rapid.IntRange(0, n-1).Draw(t, label+" from"), rapid.IntRange(0, n-1).Draw(t, label+" to")
		reflect.Swapper(v.Interface())(i, j)
	case 3:
		v.Set(reflect.Append(v, v.Index(rapid.IntRange(0, n-1).Draw(t, label+" twice"))))
	default:
		change(t, v.Index(rapid.IntRange(0, n-1).Draw(t, label+" at")), label)
	}
}
