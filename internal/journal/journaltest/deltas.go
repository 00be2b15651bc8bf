package journaltest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// hearing collects what a listener receives for a run.
type hearing struct {
	mu    sync.Mutex
	texts []string
	more  chan struct{}
}

func hear(t *testing.T, s journal.Deltas, run string) *hearing {
	t.Helper()
	h := &hearing{more: make(chan struct{}, 1)}
	t.Cleanup(s.Listen(run, func(text string) {
		h.mu.Lock()
		h.texts = append(h.texts, text)
		h.mu.Unlock()
		select {
		case h.more <- struct{}{}:
		default:
		}
	}))
	return h
}

func (h *hearing) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.texts)
}

// testDeltas checks that the output of a run reaches the handles that listen to it, in order and
// complete; handles that listen to another run, and the sender itself, receive nothing.
func testDeltas(t *testing.T, m Medium) {
	speaker, hearer := handle(t, m), handle(t, m)
	const run = "r\x00\xff"
	mustAppend(t, speaker, create(run, 0))
	subscribe(t, speaker, journal.OfRequests()) // as processes that execute runs do
	h, own, other := hear(t, hearer, run), hear(t, speaker, run), hear(t, hearer, "another")
	if m.NoDeltas {
		speaker.Pass(run, "x")
		if speaker.HasListener(run) || len(h.all()) > 0 {
			t.Error("a store that passes nothing says that it is heard")
		}
		return
	}
	limit := time.NewTimer(signalTime)
	defer limit.Stop()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !speaker.HasListener(run) {
		select {
		case <-poll.C:
		case <-limit.C:
			t.Fatal("the speaker does not learn that it is heard")
		}
	}
	if speaker.HasListener("a third") {
		t.Error("a run that is not heard is said to be")
	}
	var want []string
	for i := range 50 {
		text := fmt.Sprintf("%d \u2028 \"ü\" ", i)
		for i == 49 && len(text) < journal.MaxDelta-1 {
			text += "x"
		}
		want = append(want, text)
		speaker.Pass(run, text)
	}
	c := subscribe(t, hearer, journal.OfRun(run))
	mustAppend(t, speaker, next(run, 2))
	signalled(t, c, "an event after what was said", func() bool { return head(t, hearer, run).LastSeq == 2 })
	for len(h.all()) < len(want) {
		select {
		case <-h.more:
		case <-limit.C:
			t.Fatalf("heard %d texts of %d", len(h.all()), len(want))
		}
	}
	if got := h.all(); !slices.Equal(got, want) {
		t.Errorf("heard %q", got)
	}
	if len(own.all()) > 0 || len(other.all()) > 0 {
		t.Errorf("the speaker heard %d texts, and who hears another run %d", len(own.all()), len(other.all()))
	}
	speaker.Pass(run, string(make([]byte, 1<<20))) // too large: it is dropped
}
