package sim_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
)

// leftOut lists the fields that sim.Diff always ignores, and unordered those that it ignores only
// if calls are concurrent.
var (
	leftOut = []string{
		"StepStarted.Until", "StepStarted.Expires", "StepRetrying.Until", "WaitOpened.Deadline", "WaitOpened.Remind",
		"WaitAnswered.Trace", "RunResumed.Trace", "RunCreated.ForkedAt", "RunCreated.Facts[date]", "SignalRaised.At",
		"FuncReturned.Signals[0].At", "ModelReplied.Details.ID", "ModelReplied.Details.FirstChunk",
		"ModelFailed.Details.ID", "ModelFailed.Details.FirstChunk",
	}
	unordered = []string{"EdgeTaken.Queued", "WaitOpened.Binding"}
)

// different reports whether sim.Diff finds a difference. Formatting a difference takes the most
// time, so sim.Diff itself is called only if the journals are equal, to check that it agrees.
func different(t *testing.T, want, got []event.Event) bool {
	t.Helper()
	equal, err := sim.Equal(want, got)
	if err != nil {
		t.Fatal(err)
	}
	if equal {
		if diff, err := sim.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v; of equal lines a difference is written: %s", err, diff)
		}
	}
	return !equal
}

// TestDiffOfFields checks that each field of each event type counts, except those that are ignored.
func TestDiffOfFields(t *testing.T) {
	t.Parallel()
	n := 0
	for _, typ := range engine.Types() {
		data, ok := engine.NewData(typ)
		if !ok {
			t.Fatalf("no data of type %s", typ)
		}
		v := reflect.ValueOf(data).Elem()
		fill(v)
		base := []event.Event{{Seq: 1, At: time.Unix(1, 0), Node: "n", Step: 1, Data: data}}
		if different(t, base, []event.Event{{Seq: 1, At: time.Unix(2, 0), Node: "n", Step: 1, Data: data}}) {
			t.Errorf("%s: the time of an event counts", typ)
		}
		other := slices.Clone(base)
		other[0].Step = 2
		if !different(t, base, other) {
			t.Errorf("%s: the step of an event does not count", typ)
		}
		eachLeaf(v, v.Type().Name(), func(name string, leaf reflect.Value) {
			n++
			changed, _ := engine.NewData(typ)
			c := reflect.ValueOf(changed).Elem()
			fill(c)
			at := 0
			eachLeaf(c, c.Type().Name(), func(other string, l reflect.Value) {
				if other == name {
					at++
					change(l)
				}
			})
			if at != 1 {
				t.Fatalf("%s is there %d times", name, at)
			}
			got := []event.Event{{Seq: 1, At: time.Unix(1, 0), Node: "n", Step: 1, Data: changed}}
			if found := different(t, base, got); found == slices.Contains(leftOut, name) {
				t.Errorf("a change of %s is found: %t", name, found)
			}
		})
	}
	if n < 200 {
		t.Errorf("only %d fields were changed", n)
	}
}

// TestDiffOfJournals checks that in journals of random workflows a missing, duplicate or changed
// event is found, even if calls are concurrent.
func TestDiffOfJournals(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, seed := range []uint64{1, 2, 3, 4, 5, 6} {
		var events, others []event.Event
		synctest.Test(t, func(t *testing.T) {
			events = journalOf(t, journal.NewMemory().Open(journal.KindServe), seed, 1)
		})
		synctest.Test(t, func(t *testing.T) {
			others = journalOf(t, journal.NewMemory().Open(journal.KindServe), seed, 1)
		})
		if different(t, events, others) {
			t.Fatalf("seed %d: a journal is not equal to itself", seed)
		}
		for i, e := range events {
			switch e.Data.(type) {
			case *event.RunPaused, *event.RunResumed:
				continue
			}
			if !different(t, events, slices.Delete(slices.Clone(events), i, i+1)) {
				t.Errorf("seed %d: event %d %s is missing, which is not found", seed, e.Seq, e.Data.Type())
			}
			if !different(t, events, slices.Insert(slices.Clone(events), i, e)) {
				t.Errorf("seed %d: event %d %s is there twice, which is not found", seed, e.Seq, e.Data.Type())
			}
			v := reflect.ValueOf(others[i].Data).Elem()
			eachLeaf(v, v.Type().Name(), func(name string, leaf reflect.Value) {
				if seen[name] || slices.Contains(leftOut, name) || slices.Contains(unordered, name) {
					return
				}
				seen[name] = true
				old := reflect.New(leaf.Type()).Elem()
				old.Set(leaf)
				change(leaf)
				if !different(t, events, others) {
					t.Errorf("seed %d: another %s in event %d is not found", seed, name, e.Seq)
				}
				leaf.Set(old)
			})
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d fields were changed: %s", len(seen), strings.Join(slices.Sorted(maps.Keys(seen)), " "))
	}
}

var (
	timeType = reflect.TypeFor[time.Time]()
	textType = reflect.TypeOf(chat.NewText(""))
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// fill sets each field to a nonzero value.
func fill(v reflect.Value) {
	switch {
	case v.Type() == timeType:
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
	case v.Type() == textType:
		v.Set(reflect.ValueOf(chat.NewText("text")))
	case v.Type().ConvertibleTo(rawType) && v.Kind() == reflect.Slice:
		v.SetBytes([]byte(`"value"`))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("date").Convert(v.Type().Key()), item)
	default:
		change(v)
	}
}

// TestDiffItems checks that the order in which two maps create their items is not a difference, but
// the item that a step takes is.
func TestDiffItems(t *testing.T) {
	t.Parallel()
	run := func(first string, items map[string]int) []event.Event {
		events := []event.Event{
			{Step: 1, Node: "m", Data: &event.StepStarted{Iteration: 1}},
			{Step: 2, Node: "n", Data: &event.StepStarted{Iteration: 1}},
			{Step: 1, Node: "m", Data: &event.ModelCalled{Call: "1.1"}},
			{Step: 2, Node: "n", Data: &event.ModelCalled{Call: "2.1"}},
		}
		scopes := map[string]int{first: 1}
		for _, node := range []string{"m", "n"} {
			if node != first {
				scopes[node] = 2
			}
		}
		for step, node := range []string{"m", "n"} {
			events = append(events,
				event.Event{Step: step + 1, Node: node, Data: &event.EdgeTaken{To: "in " + node, Scope: scopes[node],
					Branch: 1}},
				event.Event{Step: step + 3, Node: "in " + node,
					Data: &event.StepStarted{Iteration: 1, Scope: scopes[node], From: -items[node]}})
		}
		return events
	}
	want := run("m", map[string]int{"m": 1, "n": 2})
	if different(t, want, run("n", map[string]int{"m": 2, "n": 1})) {
		t.Error("the order of maps makes a difference")
	}
	if !different(t, want, run("n", map[string]int{"m": 1, "n": 1})) {
		t.Error("the item of another map makes no difference")
	}
}

// eachLeaf calls do with each part of a value that change can change, and its name.
func eachLeaf(v reflect.Value, name string, do func(name string, leaf reflect.Value)) {
	switch {
	case v.Type() == timeType, v.Type() == textType, v.Type().ConvertibleTo(rawType) && v.Kind() == reflect.Slice:
		if !v.IsZero() {
			do(name, v)
		}
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			eachLeaf(v.Elem(), name, do)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				eachLeaf(v.Field(i), name+"."+f.Name, do)
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			eachLeaf(v.Index(i), fmt.Sprintf("%s[%d]", name, i), do)
		}
	case v.Kind() == reflect.Map:
		for _, k := range v.MapKeys() {
			item := reflect.New(v.Type().Elem()).Elem()
			item.Set(v.MapIndex(k))
			eachLeaf(item, fmt.Sprintf("%s[%s]", name, k), func(name string, leaf reflect.Value) {
				do(name, leaf)
				v.SetMapIndex(k, item)
			})
		}
	default:
		do(name, v)
	}
}

// change changes a value to a different one.
func change(v reflect.Value) {
	switch {
	case v.Type() == timeType:
		v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(time.Hour))) //nolint:forcetypeassert // its type was asked
	case v.Type() == textType:
		v.Set(reflect.ValueOf(chat.NewText("another text")))
	case v.Kind() == reflect.Slice:
		v.SetBytes([]byte(`"another value"`))
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "x")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanUint():
		v.SetUint(v.Uint() + 1)
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	default:
		panic("a field of type " + v.Type().String())
	}
}
