package cli

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// An answer that ended at the limit of tokens is a step that completed, with half an answer: that is said.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for stop, want := range map[string]string{"stop": "", "length": "! w  the model's answer was cut off: its limit of tokens was reached"} {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			b := &board{titles: map[string]string{"w": "w"}}
			b.add(engine.Event{Node: "w", Step: 1, At: time.Unix(1, 0), Data: &engine.StepStarted{Kind: workflow.KindAgent, Iteration: 1}})
			got := ""
			if l := b.add(engine.Event{Node: "w", Step: 1, Data: &engine.ModelReplied{Call: "1.0.1", Stop: stop}}); l != nil {
				got = l.mark + " " + l.fit(anyWidth)
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
