package view

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// graphRun is an in-memory source for a run of a Go graph.
type graphRun struct{ memory }

func (m *graphRun) RunDefinition(context.Context, string) (journal.Head, *workflow.Workflow, error) {
	return journal.Head{Run: "r"}, &workflow.Workflow{Format: "graph"}, nil
}

// lengths holds lengths at which values are kept in different ways.
var lengths = []int{1, 40, 200, shortBytes + 1, 5_000, Limit + 1}

// drawText generates the inside of a JSON string.
func drawText(t *rapid.T) string {
	unit := rapid.SampledFrom([]string{"x", "ü", `\"`, `\\`, `\n`, "𝄞"}).Draw(t, "unit")
	return strings.Repeat(unit, max(1, rapid.SampledFrom(lengths).Draw(t, "bytes")/len(unit)))
}

// drawStates generates the events of a run whose state grows and changes, as the engine stores
// them.
func drawStates(t *rapid.T) []event.Event {
	fields := map[string]json.RawMessage{"list": json.RawMessage(`["` + drawText(t) + `"]`),
		"text": json.RawMessage(`"` + drawText(t) + `"`), "n": json.RawMessage("0")}
	input, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	state := typed.StateOf(fields, 0)
	events := []event.Event{{Data: &event.RunCreated{Format: "graph", Input: input}}, {Data: &event.RunStarted{}}}
	for step := range rapid.IntRange(1, 5).Draw(t, "steps") {
		step++
		changed := map[string]json.RawMessage{"n": json.RawMessage(fmt.Sprint(step))}
		list, text := string(fields["list"]), string(fields["text"])
		switch rapid.IntRange(0, 4).Draw(t, "change") {
		case 0:
			changed["list"] = json.RawMessage(`["` + drawText(t) + `"]`)
		case 1:
			changed["text"] = json.RawMessage(strings.TrimSuffix(text, `"`) + drawText(t) + `"`)
		case 2:
			changed["text"] = json.RawMessage(strings.Replace(text, "xx", "y", 1))
			fallthrough
		default:
			changed["list"] = json.RawMessage(strings.TrimSuffix(list, "]") + `,"` + drawText(t) + `"]`)
		}
		maps.Copy(fields, changed)
		update, edits := state.Shorten(changed)
		state = state.With(state.ChangesOf(update, edits, step))
		events = append(events,
			event.Event{Step: step, Node: "f", Data: &event.StepStarted{Tokens: []int{step}, Kind: workflow.KindFunc,
				Iteration: step}},
			event.Event{Step: step, Node: "f", Data: &event.FuncReturned{Call: "c", Attempt: 1, Update: update,
				Edits: edits}},
			event.Event{Step: step, Node: "f", Data: &event.StepCompleted{Given: true, Ports: []string{"out"}}})
	}
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

// TestState_LongValues checks the property that a run object shows the same state with tokens in
// place of long values as without, and that each value that it refers to is found.
func TestState_LongValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &graphRun{memory{events: drawStates(t), blobs: map[string][]byte{}}}
		r, err := Open(t.Context(), m, "r")
		if err != nil {
			t.Fatal(err)
		}
		want := project.Fold("r", r.Workflow, m.events).Run()
		show := func(s Style) map[string]json.RawMessage {
			run, err := r.Run(t.Context(), Page{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := r.Write(t.Context(), &b, run, s); err != nil {
				t.Fatal(err)
			}
			var shown struct{ State map[string]json.RawMessage }
			if err := json.Unmarshal(b.Bytes(), &shown); err != nil {
				t.Fatal(err)
			}
			return shown.State
		}
		whole := show(Style{})
		for name, v := range want.State {
			if !bytes.Equal(whole[name], v) {
				t.Fatalf("%s: %d bytes, want %d: %.200s, want %.200s", name, len(whole[name]), len(v), whole[name], v)
			}
		}
		if r, err = Open(t.Context(), m, "r"); err != nil {
			t.Fatal(err)
		}
		for name, v := range show(Style{Limit: Limit}) {
			var ref Reference
			if json.Unmarshal(v, &ref) != nil || ref.Value.SHA256 == "" {
				if !bytes.Equal(v, want.State[name]) {
					t.Fatalf("%s is %.200s, want %.200s", name, v, want.State[name])
				}
				continue
			}
			isText := want.State[name][0] == '"' && strings.HasPrefix(ref.Value.Href, "text")
			fresh, err := Open(t.Context(), m, "r")
			if err != nil {
				t.Fatal(err)
			}
			found, err := fresh.Find(t.Context(), ref.Value.SHA256, isText)
			if err != nil {
				found, err = fresh.Find(t.Context(), ref.Value.SHA256, true)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var content bytes.Buffer
			if err := found.WriteTo(t.Context(), &content); err != nil {
				t.Fatal(err)
			}
			got := content.String()
			if found.IsText {
				quoted, _ := json.Marshal(got)
				var a, b string
				if json.Unmarshal(quoted, &a) != nil || json.Unmarshal(want.State[name], &b) != nil || a != b {
					t.Fatalf("%s: found %d bytes of text", name, len(got))
				}
			} else if got != string(want.State[name]) {
				t.Fatalf("%s: found %.200s, want %.200s", name, got, want.State[name])
			}
		}
	})
}

// TestOutputs_SharedText checks the property that outputs that occur in a text of an earlier
// event are the same with a token in place of that text.
func TestOutputs_SharedText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inside := drawText(t)
		value := event.Value(`{"a":"` + inside + `"}`)
		var text string
		if err := json.Unmarshal([]byte(`"`+inside+`"`), &text); err != nil {
			t.Fatal(err)
		}
		long := fmt.Sprintf("```json\n{ \"a\": \"%s\" }\n```", inside)
		events := []event.Event{
			{Data: &event.RunCreated{Format: "steps", Input: event.Value(`""`)}}, {Data: &event.RunStarted{}},
			{Step: 1, Node: "a", Data: &event.StepStarted{Tokens: []int{1}, Kind: workflow.KindAgent, Iteration: 1}},
			{Step: 1, Node: "a", Data: &event.ModelCalled{Call: "1.0.1", Attempt: 1, Conversation: "1.0", Length: 1}},
			{Step: 1, Node: "a", Data: &event.ModelReplied{Call: "1.0.1", Attempt: 1,
				Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(long)}}},
			{Step: 1, Node: "a", Data: &event.StepCompleted{JSON: true, Ports: []string{"out"}}},
			{Step: 2, Node: "t", Data: &event.StepStarted{Tokens: []int{2}, Kind: workflow.KindTool, Iteration: 1}},
			{Step: 2, Node: "t", Data: &event.ToolReturned{Call: "2.0.1", Attempt: 1, Text: text,
				Structured: event.Value(`{"code":0,"out":null}`), Member: "out"}},
			{Step: 2, Node: "t", Data: &event.StepCompleted{Given: true, Ports: []string{"out"}}},
			{Step: 3, Node: "u", Data: &event.StepStarted{Tokens: []int{3}, Kind: workflow.KindTool, Iteration: 1}},
			{Step: 3, Node: "u", Data: &event.ToolReturned{Call: "3.0.1", Attempt: 1, Text: string(value),
				JSON: true}},
			{Step: 3, Node: "u", Data: &event.StepCompleted{Given: true, Ports: []string{"out"}}},
		}
		for i := range events {
			events[i].Seq = uint64(i + 1)
		}
		m := &memory{events: events, blobs: map[string][]byte{}}
		r, err := Open(t.Context(), m, "r")
		if err != nil {
			t.Fatal(err)
		}
		run, err := r.Run(t.Context(), Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.Write(t.Context(), &b, run, Style{}); err != nil {
			t.Fatal(err)
		}
		var shown struct {
			Steps []struct{ Output any }
		}
		if err := json.Unmarshal(b.Bytes(), &shown); err != nil {
			t.Fatalf("%v: %.300s", err, b.Bytes())
		}
		want := []any{map[string]any{"a": text}, map[string]any{"code": 0.0, "out": text}, map[string]any{"a": text}}
		for i, w := range want {
			if got := shown.Steps[i].Output; fmt.Sprint(got) != fmt.Sprint(w) {
				t.Fatalf("step %d gave %.200v, want %.200v", i+1, got, w)
			}
		}
	})
}
