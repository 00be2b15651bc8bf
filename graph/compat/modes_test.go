package compat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph/compat"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// steps returns two steps: one that changed and sent something, and one that did neither.
func steps() []hocket.Step[counted] {
	return []hocket.Step[counted]{
		{
			NodeID: "count", State: counted{N: 1}, Status: hocket.StatusRunning, ExecutionTime: 1500 * time.Microsecond,
			RetryCount: 2, ModelUsed: "a/b",
			Result: hocket.StepResult{Update: map[string]json.RawMessage{"n": json.RawMessage("1")}},
			EmittedEvents: []hocket.EmittedEvent{
				{Type: "progress", Data: map[string]any{"percent": 50}, Timestamp: noon},
				{Type: "done", Timestamp: noon.Add(time.Second)},
			},
		},
		{NodeID: "look", State: counted{N: 1}, Status: hocket.StatusCompleted},
	}
}

// stream yields the steps of list, followed by errs.
func stream(list []hocket.Step[counted], errs ...error) iter.Seq2[hocket.Step[counted], error] {
	return func(yield func(hocket.Step[counted], error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
		for _, err := range errs {
			if !yield(hocket.Step[counted]{}, err) {
				return
			}
		}
	}
}

// lines returns events as JSON, and errors as their messages.
func lines[S any](t *testing.T, events iter.Seq2[compat.StreamEvent[S], error]) []string {
	t.Helper()
	out := []string{}
	for e, err := range events {
		if err != nil {
			out = append(out, "error: "+err.Error())
			continue
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

const (
	value1  = `{"mode":"values","nodeId":"count","state":{"n":1}}`
	value2  = `{"mode":"values","nodeId":"look","state":{"n":1}}`
	update1 = `{"mode":"updates","nodeId":"count","update":{"n":1}}`
	event1  = `{"mode":"events","nodeId":"count","event":{"type":"progress","data":{"percent":50},` +
		`"timestamp":"2026-03-01T12:00:00Z"}}`
	event2 = `{"mode":"events","nodeId":"count","event":{"type":"done","timestamp":"2026-03-01T12:00:01Z"}}`
	debug1 = `{"mode":"debug","nodeId":"count","trace":{"nodeId":"count","executionTime":1.5,"retryCount":2,` +
		`"modelUsed":"a/b","stateSnapshot":{"n":1}}}`
	debug2 = `{"mode":"debug","nodeId":"look","trace":{"nodeId":"look","executionTime":0,"retryCount":0,` +
		`"modelUsed":"unknown","stateSnapshot":{"n":1}}}`
)

// TestModes checks the default values mode, several modes shown step by step in their order,
// updates only for steps that changed something, `unknown` if no model was used, and the shapes of
// the document (S2-38, S2-73).
func TestModes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		modes []compat.Mode
		want  []string
	}{
		{"S2-38 default", nil, []string{value1, value2}},
		{"S2-73 values", []compat.Mode{compat.ModeValues}, []string{value1, value2}},
		{"S2-38 updates", []compat.Mode{compat.ModeUpdates}, []string{update1}},
		{"S2-73 events", []compat.Mode{compat.ModeEvents}, []string{event1, event2}},
		{"S2-38 debug", []compat.Mode{compat.ModeDebug}, []string{debug1, debug2}},
		{"S2-38 in order", []compat.Mode{"debug", "events", "values", "updates"},
			[]string{debug1, event1, event2, value1, update1, debug2, value2}},
		{"twice is once", []compat.Mode{"updates", "values", "updates"}, []string{update1, value1, value2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, lines(t, compat.RouteStream(stream(steps()), tt.modes...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestModesNull checks that a null or zero state is shown, too (S2-73).
func TestModesNull(t *testing.T) {
	t.Parallel()
	source := func(yield func(hocket.Step[*counted], error) bool) {
		yield(hocket.Step[*counted]{NodeID: "n"}, nil)
	}
	want := []string{`{"mode":"values","nodeId":"n","state":null}`}
	if diff := cmp.Diff(want, lines(t, compat.RouteStream(source))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestModesErrors checks that an unknown mode is reported before the source is read, and that
// errors from the source are passed on.
func TestModesErrors(t *testing.T) {
	t.Parallel()
	untouched := func(func(hocket.Step[counted], error) bool) { t.Error("the source was asked") }
	seen := 0
	for _, err := range compat.RouteStream(untouched, compat.ModeValues, "everything") {
		seen++
		if unknown, ok := errors.AsType[*compat.UnknownModeError](err); !ok || unknown.Mode != "everything" {
			t.Errorf("got %v", err)
		}
		if want := `unknown stream mode "everything": the modes are values, updates, ` +
			`events, debug`; err.Error() != want {
			t.Errorf("got %s", err)
		}
	}
	if seen != 1 {
		t.Errorf("%d events", seen)
	}
	want := []string{value1, value2, "error: store is closed"}
	if diff := cmp.Diff(want, lines(t, compat.RouteStream(stream(steps(), errors.New("store is closed"))))); diff !=
		"" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestModes_BreakStopsSource checks that breaking out of the loop at any event breaks out of the
// source's loop, and reads nothing more.
func TestModes_BreakStopsSource(t *testing.T) {
	t.Parallel()
	all := []compat.Mode{"values", "updates", "events", "debug"}
	total := len(lines(t, compat.RouteStream(stream(steps()), all...)))
	for stop := range total {
		asked := 0
		source := func(yield func(hocket.Step[counted], error) bool) {
			for _, s := range steps() {
				asked++
				if !yield(s, nil) {
					return
				}
			}
		}
		n := 0
		for range compat.RouteStream(source, all...) {
			if n == stop {
				break
			}
			n++
		}
		if want := 1 + stop/5; asked != want {
			t.Errorf("left at event %d: the source was asked for %d steps, want %d", stop, asked, want)
		}
	}
}

func ExampleRouteStream() {
	steps := []hocket.Step[string]{{NodeID: "greet", State: "hello"}, {NodeID: "shout", State: "HELLO"}}
	stream := func(yield func(hocket.Step[string], error) bool) { // any stream of steps works, such as that of Stream
		for _, s := range steps {
			if !yield(s, nil) {
				return
			}
		}
	}
	for e, err := range compat.RouteStream(stream, compat.ModeValues) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Mode, e.NodeID, e.State)
	}
	// Output:
	// values greet hello
	// values shout HELLO
}
