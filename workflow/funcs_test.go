package workflow_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/hocket-run/hocket/workflow"
)

// funcFields lists the fields that name Go functions, by type and field, in addition to Prompt.Text
// in PromptFunc and the reducers.
var funcFields = map[string]bool{
	"Node.OnError": true, "Retry.Func": true, "ToolNode.ArgsFunc": true, "FuncNode.Func": true, "Condition.Func": true,
	"Wait.PromptFunc": true, "Wait.Mapper": true, "Wait.DefaultFunc": true,
	"Fork.Merge": true, "Map.OverFunc": true, "Map.Merge": true, "Subflow.Input": true, "Subflow.Mapper": true,
}

// filled returns a value in which every string contains its own location and every list and map has
// one entry.
func filled(t reflect.Type, at string, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString(at)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() && f.Name != "Source" && f.Name != "Called" { // documents have no functions
				v.FieldByIndex(f.Index).Set(filled(f.Type, t.Name()+"."+f.Name, depth))
			}
		}
	case reflect.Pointer:
		if t.Elem() != reflect.TypeFor[Workflow]() || depth > 0 {
			p := reflect.New(t.Elem())
			p.Elem().Set(filled(t.Elem(), at, depth-1))
			v.Set(p)
		}
	case reflect.Slice:
		if e := filled(t.Elem(), at, depth); e.Kind() != reflect.Uint8 && (e.Kind() != reflect.Pointer || !e.IsNil()) {
			v.Set(reflect.Append(v, e))
		}
	case reflect.Map:
		if e := filled(t.Elem(), at, depth); e.Kind() != reflect.Pointer || !e.IsNil() {
			v.Set(reflect.MakeMap(t))
			v.SetMapIndex(reflect.ValueOf(at).Convert(t.Key()), e)
		}
	}
	return v
}

// TestRenameFuncs checks that every field that names a Go function, and no other, is renamed, in
// flows and branches too, and that the original is unchanged. A new field whose name says that it
// is one must be in the table.
func TestRenameFuncs(t *testing.T) {
	t.Parallel()
	nested := func() *Workflow {
		w := filled(reflect.TypeFor[Workflow](), "", 2).Interface().(Workflow)
		w.Nodes[0].Agent.Prompt = Prompt{Mode: PromptFunc, Text: "Prompt.Func"}
		w.Rules.Reducers = map[string]string{"a": "func:reduce", "b": "sum"}
		return &w
	}
	w := nested()
	out := w.RenameFuncs(func(name string) string { return "new " + name })
	if d := cmp.Diff(w, nested()); d != "" {
		t.Errorf("the original changed:\n%s", d)
	}
	renamed := map[string]int{}
	var walk func(got, was reflect.Value, at string)
	walk = func(got, was reflect.Value, at string) {
		switch got.Kind() {
		case reflect.String:
			want := was.String()
			switch field := at[strings.LastIndexByte(at, '/')+1:]; {
			case funcFields[field], want == "Prompt.Func":
				want = "new " + want
				renamed[field]++
			case want == "func:reduce":
				want = "func:new reduce"
			case strings.HasSuffix(field, "Func"), strings.HasSuffix(field, "Mapper"):
				t.Errorf("%s looks like the name of a function, and is not renamed", at)
			}
			if got.String() != want {
				t.Errorf("%s is %q, want %q", at, got, want)
			}
		case reflect.Struct:
			for f := range got.Type().Fields() {
				if f.IsExported() {
					walk(got.FieldByIndex(f.Index), was.FieldByIndex(f.Index), at+"/"+got.Type().Name()+"."+f.Name)
				}
			}
		case reflect.Pointer:
			if !got.IsNil() {
				walk(got.Elem(), was.Elem(), at)
			}
		case reflect.Slice:
			for i := range got.Len() {
				walk(got.Index(i), was.Index(i), at)
			}
		case reflect.Map:
			for _, k := range got.MapKeys() {
				walk(got.MapIndex(k), was.MapIndex(k), at)
			}
		}
	}
	walk(reflect.ValueOf(out), reflect.ValueOf(w), "")
	for field := range funcFields {
		if renamed[field] < 3 {
			t.Errorf("%s was renamed in %d workflows, want the main one, a flow and a branch", field, renamed[field])
		}
	}
}
