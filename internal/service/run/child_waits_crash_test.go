package run_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/service"
)

// P8, D17: a process that dies between two answers of the chain leaves ancestor runs waiting. The
// same answer, given again to any of the runs, reaches all of them.
func TestChildAnswer_AfterCrash(t *testing.T) {
	t.Parallel()
	for _, told := range []int{3, 2, 1} { // outermost of the answered runs
		for at := range 4 {
			s := inMemory(t)
			nested(t, s, askedCall, `- {agent: A4, toolCalls: [{name: think, arguments: {thought: hm}}]}`+
				"\n  - {agent: A4, contains: hm, text: four}")
			ended(t, s, "r")
			runs := chain(t, s, "r")
			yes := service.AnswerRequest{By: event.LocalBy(event.ChannelProgram), Value: service.Decide("approve")}
			for i := 3; i >= told; i-- {
				if err := s.AnswerOnly(t.Context(), runs[i], ended(t, s, runs[i]).Waiting[0].ID, yes); err != nil {
					t.Fatal(err)
				}
				ended(t, s, runs[i])
			}
			if err := s.Answer(t.Context(), runs[at], yes); err != nil {
				t.Errorf("told %d, again at %d: %v", told, at, err)
				continue
			}
			if o := ended(t, s, "r"); string(o.Output) != `"one"` {
				t.Errorf("told %d, again at %d: status %s, waiting %+v", told, at, o.Status, o.Waiting)
			}
		}
	}
}

// P8, D17: an answer that only the innermost run has is passed whole to the ancestor runs when they
// are resumed, however long it is.
func TestChildAnswer_LongAfterCrash(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	nested(t, s, "agents:\n  A4: {model: openai/x, toolsets: [{type: user_prompt}]}\n",
		`- {agent: A4, toolCalls: [{name: user_prompt, arguments: {message: "Which?"}}]}`+
			"\n  - {agent: A4, contains: the end, text: four}")
	ended(t, s, "r")
	runs := chain(t, s, "r")
	if len(runs) != 4 {
		t.Fatalf("runs %v", runs)
	}
	long := expr.Quote(strings.Repeat("many words, ", 10_000) + "the end")
	answer := service.AnswerRequest{By: event.LocalBy(event.ChannelProgram), Value: long}
	if err := s.AnswerOnly(t.Context(), runs[3], ended(t, s, runs[3]).Waiting[0].ID, answer); err != nil {
		t.Fatal(err)
	}
	ended(t, s, runs[3])
	// ancestor runs may have continued by themselves
	if err := s.Resume(t.Context(), "r"); err != nil && !errors.Is(err, engine.ErrEnded) {
		t.Fatal(err)
	}
	if o := ended(t, s, "r"); string(o.Output) != `"one"` {
		t.Errorf("status %s, output %s, error %+v", o.Status, o.Output, o.Error)
	}
	for _, run := range runs {
		if got := answers(ended(t, s, run)); len(got) != 1 || got[0] != string(long) {
			t.Errorf("run %s has the answers %.200q", run, got)
		}
	}
}
