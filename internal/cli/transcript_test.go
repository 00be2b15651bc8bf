package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
)

// TestTranscript checks that texts are written as they arrive, one agent after the other, whatever
// of them is missing, repeated or lost (S4-31).
func TestTranscript(t *testing.T) {
	t.Parallel()
	called := func(step int, agent string, attempt int) any {
		return event.Event{Step: step, Data: &event.ModelCalled{Call: agent, Agent: agent, Attempt: attempt}}
	}
	delta := func(agent string, attempt, offset int, text string) any {
		return driver.Delta{Call: agent, Attempt: attempt, Offset: offset, Text: text}
	}
	replied := func(agent, text string) any {
		return event.Event{Data: &event.ModelReplied{Call: agent, Message: chat.Message{Text: chat.NewText(text)}}}
	}
	failed := func(agent string) any { return event.Event{Data: &event.ModelFailed{Call: agent}} }
	for name, tc := range map[string]struct {
		in     []any // events, deltas, and texts that must have been written by then
		output string
		want   string
	}{
		"as it comes": {[]any{called(1, "a", 1), "", delta("a", 1, 0, "one "), "--- Agent: a ---\none ",
			delta("a", 1, 4, "two"), "--- Agent: a ---\none two", replied("a", "one two")}, `"one two"`,
			"--- Agent: a ---\none two\n"},
		"no deltas": {[]any{called(1, "a", 1), replied("a", "one\n"), called(2, "b", 1), replied("b", "two")}, `"two"`,
			"--- Agent: a ---\none\n\n--- Agent: b ---\ntwo\n"},
		"a delta is missing": {[]any{called(1, "a", 1), delta("a", 1, 0, "one "), delta("a", 1, 8, "three"),
			replied("a", "one two three")}, `"one two three"`, "--- Agent: a ---\none two three\n"},
		"the beginning is missing": {[]any{called(1, "a", 1), delta("a", 1, 4, "two"), replied("a", "one two")},
			`"one two"`, "--- Agent: a ---\none two\n"},
		"at the same time": {[]any{called(1, "a", 1), called(2, "b", 1), delta("a", 1, 0, "a1 "), delta("b", 1, 0,
			"b1 "),
			"--- Agent: a ---\na1 ", delta("a", 1, 3, "a2"), replied("b", "b1 b2"), replied("a", "a1 a2")},
			`{"a":1}`, "--- Agent: a ---\na1 a2\n\n--- Agent: b ---\nb1 b2\n\n{\"a\":1}\n"},
		"attempts": {[]any{called(1, "a", 1), delta("a", 1, 0, "lost"), failed("a"), called(1, "a", 2),
			delta("a", 1, 4, "late"), delta("a", 2, 0, "one"), replied("a", "one")}, `"one"`,
			"--- Agent: a ---\nlost\none\n"},
		"one agent continues": {[]any{called(1, "a", 1), replied("a", "one"), called(1, "a", 1), replied("a", ""),
			called(1, "a", 1), replied("a", "two")}, `"two"`, "--- Agent: a ---\none\ntwo\n"},
		"another text in the end": {[]any{called(1, "a", 1), delta("a", 1, 0, "on"), replied("a", "two")}, `"two"`,
			"--- Agent: a ---\non\ntwo\n"},
		"cut off": {[]any{called(1, "a", 1), delta("a", 1, 0, "on")}, "", "--- Agent: a ---\non\n"},
		"cut off before another one": {[]any{called(1, "a", 1), delta("a", 1, 0, "on"), called(2, "b", 1),
			replied("b", "whole")}, "", "--- Agent: a ---\non\n\n--- Agent: b ---\nwhole\n"},
		"a text that failed comes last": {[]any{called(1, "a", 1), replied("a", "same"), called(2, "b", 1),
			delta("b", 1, 0, "part"), failed("b")}, `"same"`,
			"--- Agent: a ---\nsame\n\n--- Agent: b ---\npart\n\nsame\n"},
		"half a letter": {[]any{called(1, "a", 1), delta("a", 1, 0, "caf\xc3"), "--- Agent: a ---\ncaf",
			delta("a", 1, 4, "\xa9"), "--- Agent: a ---\ncafé", replied("a", "café")}, `"café"`,
			"--- Agent: a ---\ncafé\n"},
		"no agent speaks": {nil, `"out"`, "out\n"},
		"a value, as said": {[]any{called(1, "a", 1), replied("a", "{\"n\": 1}")}, `{"n":1}`,
			"--- Agent: a ---\n{\"n\": 1}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			tr := newTranscript(&app{Streams: Streams{Out: &out, Err: &bytes.Buffer{},
				Env: func(string) string { return "" }}})
			for _, in := range tc.in {
				switch in := in.(type) {
				case event.Event:
					tr.event(in)
				case driver.Delta:
					tr.delta(in)
				case string:
					if out.String() != in {
						t.Errorf("written so far %q, want %q", &out, in)
					}
				}
			}
			tr.done()
			o := project.Run{Status: event.StatusRunning}
			if tc.output != "" {
				o = project.Run{Status: event.StatusCompleted, Output: event.Value(tc.output)}
			}
			if err := tr.result(o); err != nil || out.String() != tc.want {
				t.Errorf("%v\ngot  %q\nwant %q", err, &out, tc.want)
			}
		})
	}
}

// TestTranscript_Terminal checks that on a terminal the lines of progress are shown at the end of
// each text, warnings on a line of their own, and that nothing is shown after the end.
func TestTranscript_Terminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer // both streams, as on a terminal
	tr := newTranscript(&app{Streams: Streams{Out: &out, Err: &out, OutTerminal: true,
		Env: func(string) string { return "" }}})
	started := func(step int) event.Event {
		return event.Event{Step: step, Node: fmt.Sprint("n", step), Data: &event.StepStarted{}}
	}
	tr.event(started(1))
	tr.event(started(2))
	for _, call := range []string{"a", "b"} {
		tr.event(event.Event{Step: int(call[0] - 'a' + 1), Data: &event.ModelCalled{Call: call, Agent: call}})
	}
	tr.delta(driver.Delta{Call: "a", Text: "a1"})
	tr.delta(driver.Delta{Call: "b", Text: "b1"})
	tr.say("a warning\n")
	tr.event(event.Event{Step: 2, Node: "n2", Data: &event.StepFailed{Error: event.Failure{Message: "broken"}}})
	if got := out.String(); strings.Contains(got, "broken") || !strings.HasSuffix(got, "a1\na warning\n") {
		t.Errorf("while a text is written: %q", got)
	}
	tr.event(event.Event{Data: &event.ModelReplied{Call: "a", Message: chat.Message{Text: chat.NewText("a1 a2")}}})
	if got := out.String(); !strings.Contains(got, "broken") || !strings.HasSuffix(got, "--- Agent: b ---\nb1") {
		t.Errorf("at the end of a text: %q", got)
	}
	tr.done()
	before := out.String()
	tr.delta(driver.Delta{Call: "b", Offset: 2, Text: "b2"})
	tr.event(started(3))
	if got := out.String(); got != before {
		t.Errorf("after the end: %q", got[len(before):])
	}
}
