package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// noteAgent is an agent whose prompt is the note and its input.
func noteAgent(id string) workflow.Node {
	n := enginetest.Agent(id)
	n.Agent.Prompt.Text = "{{APPROVAL_NOTE}}|{{PREVIOUS_OUTPUT}}"
	return n
}

// decides answers the approval of a node with a note.
func decides(w *enginetest.World, node, decision, note string) {
	w.T.Helper()
	open := w.Run.Waits()
	i := slices.IndexFunc(open, func(x engine.WaitInfo) bool { return x.Node == node })
	if i < 0 {
		w.T.Fatalf("no wait of %s is open\n%s", node, w.Log())
	}
	w.Feed(engine.Answer{Wait: open[i].ID, Value: enginetest.Text(decision), Note: note})
}

// checkPrompt checks the prompt of the model call in flight, also after a crash, and answers the
// call.
func checkPrompt(w *enginetest.World, node, want, reply string) {
	w.T.Helper()
	for range 2 {
		if got := w.Asked(node).Messages[0].Text.String(); got != want {
			w.T.Errorf("prompt of %s: %q, want %q\n%s", node, got, want, w.Log())
		}
		w.Crash()
	}
	w.Finish(node, enginetest.Say("%s", reply))
}

// TestApprovalNote checks that {{APPROVAL_NOTE}} is the note of the approval that was answered last
// on the path to the step, inserted literally and in the same pass as the output (ADR 46).
func TestApprovalNote(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		nodes []workflow.Node
		edges string
		play  func(w *enginetest.World)
	}{
		"a loop has the note of its last pass": {
			nodes(noteAgent("a"), enginetest.Approval("ok"), noteAgent("z")),
			"a -> ok; ok:reject -> a; ok:approve -> z",
			func(w *enginetest.World) {
				checkPrompt(w, "a", "|go", "one {{APPROVAL_NOTE}}")
				decides(w, "ok", "reject", "shorter {{PREVIOUS_OUTPUT}} $&")
				checkPrompt(w, "a", "shorter {{PREVIOUS_OUTPUT}} $&|one {{APPROVAL_NOTE}}", "two")
				decides(w, "ok", "reject", "longer")
				checkPrompt(w, "a", "longer|two", "three")
				decides(w, "ok", "approve", "")
				checkPrompt(w, "z", "|three", "end") // the last answer had no note: an older one does not count
			},
		},
		"steps between keep it": {
			nodes(enginetest.Approval("ok"), "a", noteAgent("z")), "ok:approve -> a; a -> z",
			func(w *enginetest.World) {
				decides(w, "ok", "approve", "mind the tone")
				w.Finish("a", enginetest.Say("draft"))
				checkPrompt(w, "z", "mind the tone|draft", "end")
			},
		},
		"a branch has no note of one beside it": {
			nodes("a", enginetest.Approval("ok"), noteAgent("b"), noteAgent("c"), noteAgent("z")),
			"a -> ok; a -> b; ok:approve -> c; b -> z",
			func(w *enginetest.World) {
				w.Finish("a", enginetest.Say("out"))
				decides(w, "ok", "approve", "mine")
				checkPrompt(w, "c", "mine|out", "c")
				checkPrompt(w, "b", "|out", "b")
				checkPrompt(w, "z", "|b", "z")
			},
		},
		"a join has the note of all ways, the last one given": {
			nodes("a", enginetest.Approval("p"), enginetest.Approval("q"),
				workflow.Node{ID: "j", Kind: workflow.KindJoin, Join: &workflow.Join{}}, noteAgent("z")),
			"a -> p; a -> q; p:approve -> j; q:approve -> j; j -> z",
			func(w *enginetest.World) {
				w.Finish("a", enginetest.Say("out"))
				decides(w, "q", "approve", "first")
				decides(w, "p", "approve", "second")
				checkPrompt(w, "z", `second|{"p":"out","q":"out"}`, "end")
			},
		},
		"a block has the notes inside it once it has completed": {
			nodes(enginetest.Fork("f", workflow.Fork{}, "a", "b"), enginetest.In("f", enginetest.Approval("a")),
				enginetest.In("f", noteAgent("b")), noteAgent("z")),
			"f:a -> a; f:b -> b; a:approve -> f/join; b -> f/join; f/join -> z",
			func(w *enginetest.World) {
				checkPrompt(w, "b", "|go", "b")
				decides(w, "a", "approve", "inside")
				checkPrompt(w, "z", `inside|{"a":"go","b":"b"}`, "end")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.New(t, enginetest.Graph(tc.nodes, tc.edges), nil)
			w.Start("go")
			tc.play(w)
			wantStatus(t, w, event.StatusCompleted)
			w.CheckPrefixes()
		})
	}
}

// TestApprovalNoteAfterDeadline checks that an approval that was not answered before its deadline
// has no note: the previous approval counts.
func TestApprovalNoteAfterDeadline(t *testing.T) {
	t.Parallel()
	late := enginetest.Approval("late")
	late.Wait.Deadline = workflow.Duration(1e9)
	w := enginetest.New(t, enginetest.Graph(nodes(enginetest.Approval("ok"), late, noteAgent("z")),
		"ok:approve -> late; late:timeout -> z"), nil)
	w.Start("go")
	decides(w, "ok", "approve", "before")
	w.Fire("deadline:w2")
	checkPrompt(w, "z", "before|go", "end")
}

// TestApprovalNote_ByteLimit checks that a byte limit counts the notes that a prompt would contain,
// before the prompt is built (SEC17).
func TestApprovalNote_ByteLimit(t *testing.T) {
	t.Parallel()
	n := noteAgent("z")
	for range 10 {
		n.Agent.Prompt.Text += "{{APPROVAL_NOTE}}"
	}
	g := enginetest.Graph(nodes(enginetest.Approval("ok"), n), "ok:approve -> z")
	g.Limits.MaxBytes = 6000
	w := enginetest.New(t, g, nil)
	w.Start("go")
	decides(w, "ok", "approve", strings.Repeat("x", 1000))
	if got := failure(t, w); got.Code != event.CodeMaxBytes {
		t.Errorf("got %+v, want max_bytes\n%s", got, w.Log())
	}
}
