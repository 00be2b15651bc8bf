package hocket_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket"

	"github.com/hocket-run/hocket/documents"
)

// TestToolCallWaits checks that a Go program is shown the call that waits for a person, with its
// real arguments, and that its answer decides: after approval the tool is called once, after
// rejection it is not, and the agent is told why (P8, SEC12).
func TestToolCallWaits(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"approve": "so tide is known", "reject": "Reason: not today"} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Pointer[hocket.ModelRequest]
			var calls atomic.Int32
			e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own", echo(&seen)),
				hocket.WithTool("lookup", "Looks up a word.", func(_ context.Context, in lookupArgs) (string, error) {
					calls.Add(1)
					return in.Word + " is known", nil
				}))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			w, err := e.Parse("writer.yaml", []byte(writerDoc+"permissions: {ask: [lookup]}\n"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "the sea"})
			if err != nil || r.Status != hocket.StatusPaused || len(r.Waiting) != 1 || calls.Load() != 0 {
				t.Fatalf("%+v, %v, %d calls; want a run that waits", r, err, calls.Load())
			}
			q := r.Waiting[0]
			if q.Kind != "approval" || q.Tool != "lookup" || string(q.Arguments) != `{"word":"tide"}` || q.Changed {
				t.Errorf("the program is shown %+v", q)
			}
			if err := e.Answer(t.Context(), r.ID,
				hocket.Answer{Wait: q.ID, Value: answer, Note: "not today"}); err != nil {
				t.Fatal(err)
			}
			if r, err = e.Wait(t.Context(), r.ID); err != nil || r.Status != hocket.StatusCompleted ||
				!strings.Contains(r.Text(), want) {
				t.Errorf("%+v, %v; want %q", r, err, want)
			}
			if n := calls.Load(); (n == 1) != (answer == "approve") || n > 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}
