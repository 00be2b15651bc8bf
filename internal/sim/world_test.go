package sim_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
)

// TestWorld_DetectsViolations checks what the world reports about a call whose answer is stored
// (D8), and about one that is not stored at all (D7).
func TestWorld_DetectsViolations(t *testing.T) {
	t.Parallel()
	answered := []event.Event{{Data: &event.ModelCalled{Call: "1.0.1"}}, {Data: &event.ModelReplied{Call: "1.0.1"}}}
	for name, c := range map[string]struct {
		stored    []event.Event
		overtaken bool
		wrong     int
	}{
		"answer stored":                   {stored: answered, wrong: 1},
		"answer stored by the next owner": {stored: answered, overtaken: true},
		"call stored":                     {stored: answered[:1]},
		"call not stored":                 {wrong: 1},
		"call not stored, overtaken":      {overtaken: true, wrong: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &sim.World{}
			w.Check(func(string) []event.Event { return c.stored })
			resources, err := w.Process(func() bool { return c.overtaken }).Open(t.Context(), driver.Info{Run: "r"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := resources.Models.Call(t.Context(), model.Request{IdempotencyKey: "r/1.0.1"}, nil); err != nil {
				t.Fatal(err)
			}
			if wrong := w.Wrong(); len(wrong) != c.wrong {
				t.Errorf("the world blames %q, want %d", wrong, c.wrong)
			}
		})
	}
}
