package project

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// forgetful folds events with a window of the given size, repeating while steps are missed, and
// returns the steps that left the window.
func forgetful(t *testing.T, def *workflow.Workflow, events []event.Event, window int,
	k Keep) (f *Folder, left []Step, entries []TrailEntry, open map[int]bool) {
	t.Helper()
	k.Pins = map[int]bool{}
	for {
		left, entries, open = nil, nil, map[int]bool{}
		k.Leave = func(l Leaving) error {
			if s, ok := l.Step(); ok {
				left = append(left, s)
			}
			e, ok := l.Entry()
			if e.Order = len(entries); l.IsOpen {
				open[l.Seq] = true
				e, ok = TrailEntry{Order: l.Seq}, true // its position
			}
			if ok {
				entries = append(entries, e)
			}
			return nil
		}
		f = NewFolder("run1", def)
		f.KeepCalls()
		k.Window = window
		f.Forget(k)
		for _, e := range events {
			f.Add(e)
		}
		missed := f.Missed()
		for _, n := range missed {
			if k.Pins[n] {
				t.Fatalf("step %d is pinned and was missed", n)
			}
			k.Pins[n] = true
		}
		if len(missed) == 0 {
			return f, left, entries, open
		}
	}
}

// sameForgetting compares the views of a forgetting folder with the views of a folder that keeps
// everything.
func sameForgetting(t *testing.T, def *workflow.Workflow, events []event.Event, window int, k Keep) {
	t.Helper()
	whole := NewFolder("run1", def)
	whole.KeepCalls()
	for _, e := range events {
		whole.Add(e)
	}
	f, left, entries, open := forgetful(t, def, events, window, k)
	want, got := whole.Run(), f.Run()
	all := want.Steps
	if want.Steps = cutPart(want.Steps, k.Steps); len(want.Steps) == 0 {
		want.Steps = []Step{}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Fatalf("window %d, run object (-got +want):\n%s\n%s", window, diff, enginetest.Print(events))
	}
	trail := whole.Trail()
	if n := f.TrailCount(); n != len(trail) || f.StepCount() != len(all) {
		t.Fatalf("%d entries of the trail and %d steps, want %d and %d", n, f.StepCount(), len(trail), len(all))
	}
	if trail = cutPart(trail, k.Trail); len(trail) == 0 {
		trail = []TrailEntry{}
	}
	if diff := cmp.Diff(f.Trail(), trail); diff != "" {
		t.Fatalf("window %d, trail (-got +want):\n%s\n%s", window, diff, enginetest.Print(events))
	}
	for i := range left {
		if open[left[i].Seq] {
			l, _ := f.Find(left[i].Seq)
			left[i], _ = l.Step()
		}
	}
	path := []TrailEntry{}
	for _, e := range entries {
		if open[e.Order] && e.NodeID == "" {
			l, _ := f.Find(e.Order)
			var ok bool
			if e, ok = l.Entry(); !ok {
				continue
			}
		}
		e.Order = len(path)
		path = append(path, e)
	}
	if diff := cmp.Diff(path, whole.Trail()[:len(path)]); diff != "" {
		t.Fatalf("window %d, entries that left (-got +want):\n%s\n%s", window, diff, enginetest.Print(events))
	}
	if diff := cmp.Diff(left, all[:len(left)]); len(left) > 0 && diff != "" {
		t.Fatalf("window %d, steps that left (-got +want):\n%s\n%s", window, diff, enginetest.Print(events))
	}
}

func cutPart[T any](all []T, p Part) []T {
	from := min(p.From, len(all))
	return all[from:min(len(all), from+min(p.N, len(all)))]
}

// TestTrimmedFolder_MatchesFull checks that a forgetting folder shows the same as one that does not
// forget, at every event and for every range, for random workflows with loops, nested blocks, and
// prompts assembled from earlier outputs.
func TestTrimmedFolder_MatchesFull(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := enginetest.DrawShape(rt, 5)
		s.SetLoops(3)
		def := s.Compile()
		mode := rapid.SampledFrom([]workflow.PromptMode{workflow.PromptTemplate, workflow.PromptContext}).Draw(rt,
			"prompts")
		for i := range def.Nodes {
			if a := def.Nodes[i].Agent; a != nil {
				a.Prompt.Mode = mode
			}
		}
		w := enginetest.New(t, def, nil)
		w.SkipLaws = true
		w.Model = func(c *engine.CallModel) *engine.ModelResult {
			return enginetest.Reply(enginetest.ReplyTo(c.Node, c.Messages[len(c.Messages)-1].Text.String()))
		}
		w.Start("go")
		w.Go(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") })
		for range 4 {
			n := rapid.IntRange(1, len(w.Events)).Draw(rt, "events")
			k := Keep{Steps: drawPart(rt, "steps"), Trail: drawPart(rt, "trail")}
			sameForgetting(t, def, w.Events[:n], rapid.IntRange(1, 6).Draw(rt, "window"), k)
		}
	})
}

func drawPart(rt *rapid.T, name string) Part {
	return rapid.SampledFrom([]Part{AllOf, {}, {0, 2}, {1, 1}, {3, 4}, {2, 100}}).Draw(rt, name)
}

// TestTrimmedFolder_LateEvents checks that events for a step that has settled and was forgotten are
// handled by folding again.
func TestTrimmedFolder_LateEvents(t *testing.T) {
	t.Parallel()
	def := &workflow.Workflow{Entry: "a", Agents: definition("").Agents}
	for i, id := range []string{"a", "b", "c", "d"} {
		if def.Nodes = append(def.Nodes, agentNode(id, "", "a")); i > 0 {
			def.Edges = append(def.Edges, workflow.Edge{From: def.Nodes[i-1].ID, To: id})
		}
	}
	w := enginetest.New(t, def, nil)
	w.Model = func(c *engine.CallModel) *engine.ModelResult { return enginetest.Reply(c.Node) }
	w.Start("x")
	w.Go(func(int) int { return 0 })
	events := append([]event.Event{}, w.Events...)
	last := events[len(events)-1]
	usage := &event.ModelReplied{Call: "gone", Late: true, Usage: &chat.Usage{InputTokens: 7}}
	late := event.Event{Seq: last.Seq, At: last.At, Node: "a", Step: 1, Data: usage}
	events = append(events[:len(events)-1], late, last)
	f := NewFolder("run1", def)
	f.Forget(Keep{Window: 1})
	for _, e := range events {
		f.Add(e)
	}
	if got := f.Missed(); len(got) != 1 || got[0] != 1 {
		t.Fatalf("missed %v, want step 1", got)
	}
	sameForgetting(t, def, events, 1, Keep{Steps: AllOf})
}
