package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/workflow"
)

func sameNote(a, b loop.Note) bool { return a.Key == b.Key && bytes.Equal(a.Value, b.Value) }

// note occasionally records a note for a running function. It returns false if nothing happened.
func (w *wild) note() bool {
	w.T.Helper()
	var calls []*engine.CallFunc
	for _, c := range w.Pending {
		if c, ok := c.(*engine.CallFunc); ok {
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 || rapid.IntRange(0, 3).Draw(w.rt, "note") > 0 {
		return false
	}
	c := calls[rapid.IntRange(0, len(calls)-1).Draw(w.rt, "call")]
	n := loop.Note{Key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.rt, "key"),
		Value: enginetest.Text(fmt.Sprint(len(w.Events)))}
	var want error
	switch {
	case w.Cancelled[c.ID]:
		want = engine.ErrNoteLate
	case slices.ContainsFunc(w.notes[c.Step], func(had loop.Note) bool { return had.Key == n.Key }):
		want = loop.ErrNote
	}
	if err := w.Record(engine.FuncNote{ID: c.ID, Key: n.Key, Value: n.Value}); !errors.Is(err, want) {
		w.T.Fatalf("note %s of call %s: %v, want %v\n%s", n.Key, c.ID, err, want, w.Log())
	}
	if want == nil {
		w.notes[c.Step] = append(w.notes[c.Step], n)
	}
	return true
}

// shaky returns a world that runs a retried function followed by another function.
func shaky(t *testing.T, more ...workflow.Node) *enginetest.World {
	t.Helper()
	n := funcNode("n")
	n.Retry = &workflow.Retry{MaxRetries: 2, Delay: workflow.Duration(time.Second)}
	return enginetest.New(t, enginetest.Graph(append(nodes(n, funcNode("z")), more...), "n -> z"), nil)
}

func take(t *testing.T, w *enginetest.World, key, value string) {
	t.Helper()
	if err := w.Record(engine.FuncNote{ID: engine.CallID(w.Pending[0]), Key: key, Value: event.Value(value)}); err !=
		nil {
		t.Fatalf("note %s: %v", key, err)
	}
}

// given returns the notes of the pending function, in order.
func given(w *enginetest.World) string {
	var b strings.Builder
	for _, n := range w.Pending[0].(*engine.CallFunc).Notes {
		fmt.Fprintf(&b, "%s=%s ", n.Key, n.Value)
	}
	return b.String()
}

// TestNotes checks that notes are passed to every further attempt, including after crashes, and are
// gone from the state when their step has ended (ADR 12, D6).
func TestNotes(t *testing.T) {
	t.Parallel()
	w := shaky(t)
	w.Start("go")
	take(t, w, "a", `{"x": 1}`)
	w.Finish("n", funcFails("server"))
	w.Fire(w.Timers[0].ID)
	if got, want := given(w), `a={"x":1} `; got != want {
		t.Errorf("the second attempt has %s, want %s", got, want)
	}
	take(t, w, "none", "null")
	take(t, w, "empty", "")
	w.Crash()
	if got, want := given(w), `a={"x":1} none= empty= `; got != want {
		t.Errorf("after the crash it has %s, want %s", got, want)
	}
	take(t, w, "b", `2`)
	w.Finish("n", funcFails("server"))
	w.Crash()
	w.Fire(w.Timers[0].ID)
	if got, want := given(w), `a={"x":1} none= empty= b=2 `; got != want {
		t.Errorf("the third attempt has %s, want %s", got, want)
	}
	w.Finish("n", newFuncResult("done"))
	if got := given(w); got != "" {
		t.Errorf("the next step has %s", got)
	}
	if state := enginetest.State(w.Run); bytes.Contains(state, []byte("Notes")) {
		t.Errorf("the notes of an ended step are kept: %s", state)
	}
	w.Finish("z", newFuncResult("end"))
	wantStatus(t, w, event.StatusCompleted)
	w.CheckPrefixes()
}

// TestNotesRefused checks which notes are rejected and that a rejection changes nothing;
// [enginetest.World.Try] checks the latter (ADR 12).
func TestNotesRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		note engine.FuncNote
		want error
		text string
	}{
		"no key": {engine.FuncNote{ID: "1.0.1#1"}, loop.ErrNote, "the key is empty"},
		"long key": {engine.FuncNote{ID: "1.0.1#1", Key: strings.Repeat("é", 129)}, loop.ErrNote,
			"258 bytes; at most 256"},
		"no text": {engine.FuncNote{ID: "1.0.1#1", Key: "a\xff"}, loop.ErrNote, "not UTF-8"},
		"twice":   {engine.FuncNote{ID: "1.0.1#1", Key: "had"}, loop.ErrNote, `duplicate key "had"`},
		"no JSON": {engine.FuncNote{ID: "1.0.1#1", Key: "a", Value: event.Value("{")}, loop.ErrNote,
			`the value of key "a" is not JSON`},
		"too large": {engine.FuncNote{ID: "1.0.1#1", Key: "a",
			Value: enginetest.Text(strings.Repeat("x", loop.MaxNoteBytes))}, loop.ErrNote, "at most 16777216"},
		"another attempt": {engine.FuncNote{ID: "1.0.1#2", Key: "a"}, engine.ErrUnknownCommand, "1.0.1#2"},
		"another call":    {engine.FuncNote{ID: "2.0.1#1", Key: "a"}, engine.ErrUnknownCommand, "2.0.1#1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shaky(t)
			w.Start("go")
			take(t, w, "had", "1")
			if err := w.Record(tc.note); !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want %v with %q", err, tc.want, tc.text)
			}
		})
	}
	w := shaky(t)
	w.Start("go")
	for i := range loop.MaxNotes {
		w.SkipLaws = i > 2
		take(t, w, fmt.Sprint(i), "1")
	}
	if err := w.Record(engine.FuncNote{ID: "1.0.1#1", Key: "more"}); !errors.Is(err, loop.ErrNote) ||
		!strings.Contains(err.Error(), "at most 1000") {
		t.Errorf("one note too many: %v", err)
	}
	if err := w.Try(engine.FuncNote{ID: "1.0.1#1", Key: "x"}, engine.TimerDue{}); err == nil ||
		!strings.Contains(err.Error(), "only input") {
		t.Errorf("a note beside other inputs: %v", err)
	}
}

// TestNotes_EndedCall checks that a call that has ended, failed or been cancelled accepts no more
// notes (ADR 12, D10).
func TestNotes_EndedCall(t *testing.T) {
	t.Parallel()
	late := func(t *testing.T, w *enginetest.World) {
		t.Helper()
		if err := w.Record(engine.FuncNote{ID: "1.0.1#1", Key: "a"}); !errors.Is(err, engine.ErrNoteLate) {
			t.Errorf("got %v, want ErrNoteLate", err)
		}
	}
	for name, end := range map[string]func(w *enginetest.World){
		"returned":  func(w *enginetest.World) { w.Finish("n", newFuncResult("done")) },
		"failed":    func(w *enginetest.World) { w.Finish("n", funcFails("server")) },
		"retried":   func(w *enginetest.World) { w.Finish("n", funcFails("server")); w.Fire(w.Timers[0].ID) },
		"cancelled": func(w *enginetest.World) { w.Feed(engine.Cancel{}) },
		"run ended": func(w *enginetest.World) {
			w.Finish("n", newFuncResult("done"))
			w.Finish("z", newFuncResult("done"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := shaky(t)
			w.Start("go")
			end(w)
			late(t, w)
		})
	}
}

// TestNotesFit checks that a journal with an impossible note is rejected at that note.
func TestNotesFit(t *testing.T) {
	t.Parallel()
	w := everything(t)
	for _, o := range []oddity{
		oddData("note of no function", "n", 0, func(d *event.FuncNoted) {
			d.Call = "9.0.1"
		}, "call 9.0.1 does not exist"),
		oddData("note of another attempt", "n", 0, func(d *event.FuncNoted) { d.Attempt = 2 }, "is not open"),
		oddData("note without key", "n", 1, func(d *event.FuncNoted) { d.Key = "" }, "the key is empty"),
		oddData("note taken twice", "n", 1, func(d *event.FuncNoted) { d.Key = "k1" }, `duplicate key "k1"`),
		{"note of an agent", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.ModelReplied](t, e, "y", 0)
			e[i].Data = &event.FuncNoted{Call: "4.0.1", Attempt: 1, Key: "k"}
			return i
		}, "does not exist"},
		{"note after the result", func(t *testing.T, e []event.Event) int {
			t.Helper()
			i := find[*event.FuncReturned](t, e, "n", 0)
			e[i+1].Data = &event.FuncNoted{Call: "7.0.1", Attempt: 1, Key: "k"}
			return i + 1
		}, "does not exist"},
	} {
		o.check(t, w)
	}
}
