package resources

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
)

// TestCodes_Models checks the classes of the codes of failed model calls, which package event knows
// as texts: what is free of cost (D10, D14), and what the agent itself calls again.
func TestCodes_Models(t *testing.T) {
	t.Parallel()
	want := map[model.ErrorKind]event.Class{
		model.KindServer:         event.SameModel,
		model.KindNetwork:        event.SameModel,
		model.KindTimeout:        event.SameModel,
		model.KindOverloaded:     event.SameModel | event.Free,
		model.KindRateLimit:      event.OtherModel | event.Free,
		model.KindAuth:           event.OtherModel | event.Free,
		model.KindNotFound:       event.OtherModel | event.Free,
		model.KindInvalidRequest: event.OtherModel | event.Free,
		model.KindQuota:          event.OtherModel | event.Free | event.Persistent,
		model.KindContextLength:  event.OtherModel | event.Free | event.Persistent,
		model.KindNoReply:        event.Free,
		model.KindContentFilter:  0,
		model.KindBudget:         event.OfLimit | event.OfRun | event.Refused | event.Free,
	}
	for _, k := range append(model.ErrorKinds(), model.KindBudget) {
		for c := event.OfLimit; c != 0; c <<= 1 {
			if got := event.CodeIs(string(k), c); got != (want[k]&c != 0) {
				t.Errorf("%s is of class %b: %t", k, c, got)
			}
		}
	}
}

// P20: the budget of a workflow counts calls that were made, not results that the engine produces
// itself.
func TestCountedCalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		data event.Data
		want int64
	}{
		{"tool", &event.ToolReturned{Call: "1.0.1", ToolCallID: "a"}, 1},
		{"failed tool", &event.ToolFailed{Call: "1.0.1"}, 1},
		{"answered by the engine", &event.ToolReturned{ToolCallID: "a", Text: "routed to b"}, 0},
		{"model turned away", &event.ModelFailed{Call: "1.0.1", Error: event.Failure{Code: "rate_limit"}}, 1},
		{"model not asked", &event.ModelFailed{Call: "1.0.1", Error: event.Failure{Code: event.CodeWorkflowBudget}},
			0},
	} {
		a := &account{}
		if a.countEvent("r", &event.Event{Data: tt.data}); a.journaled.Calls != tt.want || a.journaled.Tokens != 0 {
			t.Errorf("%s: %+v, want %d calls", tt.name, a.journaled, tt.want)
		}
	}
}
