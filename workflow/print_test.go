package workflow_test

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestPrint(t *testing.T) {
	t.Parallel()
	w := sample()
	w.Limits = Limits{MaxSteps: new(0), Timeout: Duration(90 * time.Second)}
	w.Rules = Rules{OnFailure: FailDrain, HoldWhilePaused: true, DefaultInput: json.RawMessage(`{"a": 1}`),
		Reducers: map[string]string{"log": "append"}}
	w.Agents[0].System = "You write.\nIn `Go`, \"well\"."
	w.Node("writer").Notes = []Note{{Text: `Connection target "ghost" not found`, Target: "ghost"}}
	w.Node("writer").Retry = &Retry{MaxRetries: 2, Delay: Duration(time.Second), On: []string{"rate limit"}}
	w.Edges[0].When = &Condition{Language: LangExpr, Text: `$steps.a.output == "x"`}
	w.Edges[1].Loop = true
	w.Edges[1].Label = "yes, go"
	const golden = "testdata/print.txt"
	got := Print(w)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, string(want)); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestPrint_AllFields checks that Print and Canonical show every field of a definition:
// setting any single field changes the output, so a golden test misses nothing.
func TestPrint_AllFields(t *testing.T) {
	t.Parallel()
	all := reflect.New(reflect.TypeFor[Workflow]()).Elem()
	fill(all, 0)
	w := all.Addr().Interface().(*Workflow)
	w.Source = Source{}
	full, canonical := Print(w), canon(t, w)
	count := 0
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.Name != "Source" {
					walk(v.Field(i), path+"."+f.Name)
				}
			}
			return
		case reflect.Slice:
			if v.Type() != reflect.TypeFor[json.RawMessage]() && v.Len() > 0 {
				walk(v.Index(0), path+"[0]")
			}
		case reflect.Pointer:
			walk(v.Elem(), path)
		case reflect.Map:
			for _, k := range v.MapKeys() {
				if e := v.MapIndex(k); e.Kind() == reflect.Pointer {
					walk(e, path+"[]")
				}
			}
		}
		if !v.CanSet() || v.IsZero() {
			return
		}
		count++
		saved := reflect.New(v.Type()).Elem()
		saved.Set(v)
		v.SetZero()
		if Print(w) == full {
			t.Errorf("Print does not show %s", path)
		}
		if v.Type() != reflect.TypeFor[json.RawMessage]() && canon(t, w) == canonical {
			t.Errorf("Canonical does not hold %s", path)
		}
		v.Set(saved)
	}
	walk(all, "Workflow")
	if count < 100 {
		t.Errorf("only %d fields were tried", count)
	}
}

func canon(t *testing.T, w *Workflow) string {
	t.Helper()
	b, err := w.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// fill sets every field below v to a nonzero value; flows nest once.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name == "Source" ||
				(f.Name == "Flows" || f.Name == "Called" || f.Name == "Branches") && depth > 0 {
				continue
			}
			fill(v.Field(i), depth)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		if v.Type() == reflect.TypeFor[*Workflow]() {
			depth++
		}
		fill(v.Elem(), depth)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"k":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e, depth+1)
		v.SetMapIndex(reflect.ValueOf("key"), e)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(1.5)
	default:
		panic("fill does not know " + v.Type().String())
	}
}
