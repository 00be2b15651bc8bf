package resources

import (
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
)

// D10, D14: the codes that the engine treats as free calls are error kinds of models, and all other
// codes may have incurred a cost.
func TestFreeCodes(t *testing.T) {
	t.Parallel()
	free := []model.ErrorKind{
		model.KindRateLimit, model.KindOverloaded, model.KindAuth, model.KindQuota, model.KindInvalidRequest,
		model.KindContextLength, model.KindNotFound, model.KindNoReply, model.KindBudget,
	}
	for _, k := range append(model.ErrorKinds(), model.KindBudget) {
		if got, want := event.CodeIs(string(k), event.Free), slices.Contains(free, k); got != want {
			t.Errorf("a call that failed with %s is free of cost: %t, want %t", k, got, want)
		}
	}
}

// P20: the budget of a workflow counts calls that were made, not results that the engine produces
// itself.
func TestCountedCalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		data engine.Data
		want int64
	}{
		{"tool", &engine.ToolReturned{Call: "1.0.1", ToolCallID: "a"}, 1},
		{"failed tool", &engine.ToolFailed{Call: "1.0.1"}, 1},
		{"answered by the engine", &engine.ToolReturned{ToolCallID: "a", Text: "routed to b"}, 0},
		{"model turned away", &engine.ModelFailed{Call: "1.0.1", Error: engine.Failure{Code: "rate_limit"}}, 1},
		{"model not asked", &engine.ModelFailed{Call: "1.0.1", Error: engine.Failure{Code: engine.CodeWorkflowBudget}},
			0},
	} {
		a := &account{}
		if a.countEvent("r", &engine.Event{Data: tt.data}); a.journaled.Calls != tt.want || a.journaled.Tokens != 0 {
			t.Errorf("%s: %+v, want %d calls", tt.name, a.journaled, tt.want)
		}
	}
}
