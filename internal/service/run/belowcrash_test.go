package run_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/service"
)

// P8, D17: a process that dies between two answers of the chain leaves runs above that wait. The same answer, given again to any of the runs, reaches all of them.
func TestAnswerBelowIsRepeated(t *testing.T) {
	t.Parallel()
	for _, told := range []int{3, 2, 1} { // the outermost of the runs that were answered
		for at := range 4 {
			s := inMemory(t)
			nested(t, s, askedCall, `- {agent: A4, toolCalls: [{name: think, arguments: {thought: hm}}]}`+"\n  - {agent: A4, contains: hm, text: four}")
			ended(t, s, "r")
			runs := chain(t, s, "r")
			yes := service.AnswerRequest{By: engine.LocalBy(engine.ChannelProgram), Value: service.Decide("approve")}
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
