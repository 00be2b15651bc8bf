package embedded_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// TestFollow checks that a follower of a run gets each event once, in order and as it was stored,
// however slow it is and whichever process drives the run.
func TestFollow(t *testing.T) {
	ids := make([]string, 400)
	for i := range ids {
		ids[i] = "n" + strings.Repeat("i", i)
	}
	for name, tt := range map[string]struct {
		elsewhere bool          // another process drives the run
		slow      time.Duration // how long the follower takes over the first event
		// maximum number of reads from the store; 0 means no limit. A slow follower has to read
		// again; without batches, reads would number in the hundreds
		reads int
	}{
		"here":      {reads: 20},
		"slow":      {slow: time.Hour},
		"elsewhere": {elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := journal.NewMemory()
			c := &counting{Backend: m.Open(journal.KindServe)}
			bubble(t, embedded.Config{Store: c}, func(t *testing.T, d *embedded.Driver, _ *journal.Memory) {
				drives := d
				if tt.elsewhere {
					drives = open(t, m, embedded.Config{})
				}
				run := start(t, drives, agents(ids...))
				next := uint64(1)
				var kinds []event.Type
				st, err := d.Follow(t.Context(), run, func(ev *event.Event) error {
					if ev.Seq == 1 {
						time.Sleep(tt.slow)
					}
					if ev.Seq != next {
						t.Errorf("event %d stands where %d belongs", ev.Seq, next)
					}
					next++
					kinds = append(kinds, ev.Data.Type())
					return nil
				})
				if err != nil || st.Status != event.StatusCompleted {
					t.Fatalf("%+v, %v", st, err)
				}
				if reads := len(c.from); tt.reads > 0 && reads > tt.reads {
					t.Errorf("%d times read from %v", reads, c.from)
				}
				p, err := runsOf(m).Export(t.Context(), run)
				if err != nil || len(p.Events) != len(kinds) || len(kinds) < 2000 {
					t.Fatalf("%d events, stored are %d, %v", len(kinds), len(p.Events), err)
				}
				for i, ev := range p.Events {
					if ev.Data.Type() != kinds[i] {
						t.Fatalf("event %d was %s, and is stored as %s", ev.Seq, kinds[i], ev.Data.Type())
					}
				}
			})
		})
	}
}

// TestFollow_StopsOnError checks that an error from the follower ends Follow, not the run.
func TestFollow_StopsOnError(t *testing.T) {
	bubble(t, embedded.Config{}, func(t *testing.T, d *embedded.Driver, _ *journal.Memory) {
		run := start(t, d, agents("a", "b"))
		enough := errors.New("enough")
		if _, err := d.Follow(t.Context(), run, func(*event.Event) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("followed with %v", err)
		}
		if st := status(t, d, run); st.Status != event.StatusCompleted {
			t.Errorf("the run is %s", st.Status)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		paused := start(t, d, approval())
		if _, err := d.Follow(ctx, paused, func(*event.Event) error { return nil }); !errors.Is(err,
			context.Canceled) {
			t.Errorf("followed with %v", err)
		}
	})
}
