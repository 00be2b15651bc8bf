package drivertest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
)

// stuck is a world in which the first call of node b does not return before free, whatever its
// context says. The other calls take a second.
type stuck struct {
	*sim.World
	free  chan struct{}
	mu    sync.Mutex
	first context.Context // context of the stuck call
}

func newStuck() *stuck {
	s := &stuck{free: make(chan struct{})}
	s.World = &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		s.mu.Lock()
		isFirst := q.Node == "b" && s.first == nil
		if isFirst {
			s.first = ctx
		}
		s.mu.Unlock()
		if isFirst {
			<-s.free
			return sim.Reply("of the stuck call"), nil
		}
		return sim.Reply("%s", q.Node), wait(ctx, time.Second)
	}}
	return s
}

// ended reports whether the stuck call was told to end.
func (s *stuck) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first.Err() != nil
}

const takeOverAfter = 30 * time.Second

// testHung checks that a process that is alive but sends no heartbeat loses its run after a while
// to a process that tends. When it continues it finds itself fenced: results of its calls are not
// journaled, and its calls end.
func testHung(t *testing.T, c Cluster) {
	w := newStuck()
	hung := c.Open(t, Options{World: w.World, Unchecked: true, TakeOverAfter: takeOverAfter})
	run := start(t, hung, chain(agent("a"), agent("b"), agent("c")))
	heir := c.Open(t, Options{World: w.World, Unchecked: true, TakeOverAfter: takeOverAfter})
	ctx, stop := context.WithCancel(t.Context())
	var maintaining sync.WaitGroup
	maintaining.Go(func() { heir.Maintain(ctx) })
	time.Sleep(time.Minute)
	if n := count(c.Events(t, run), (*event.RunCompleted)(nil).Type()); n != 0 || w.Count("model", "b") != 1 {
		t.Fatalf("%d ends, %d calls of b: the run was taken from a process that gives signs of life", n,
			w.Count("model", "b"))
	}
	hung.Mute(true)
	time.Sleep(takeOverAfter / 2)
	if n := w.Count("model", "b"); n != 1 {
		t.Fatalf("%d calls of b: the run was taken over too early", n)
	}
	time.Sleep(takeOverAfter)
	settle(t, c, heir, run, event.StatusCompleted)
	before := c.Events(t, run)
	hung.Mute(false)
	time.Sleep(6 * time.Second) // one heartbeat
	if !w.ended() {
		t.Error("the former owner's call goes on")
	}
	close(w.free)
	synctest.Wait()
	if after := c.Events(t, run); len(after) != len(before) {
		t.Errorf("a fenced owner wrote %d events", len(after)-len(before))
	}
	for node, want := range map[string]int{"a": 1, "b": 2, "c": 1} {
		if n := w.Count("model", node); n != want {
			t.Errorf("%d calls of %s, want %d", n, node, want)
		}
	}
	stop()
	maintaining.Wait()
	closeAll(t, heir, hung)
}

// testNotHung checks that a process that was itself stopped, or whose store accepted nothing, takes
// nothing over when it continues: the other processes could not send a heartbeat either.
func testNotHung(t *testing.T, c Cluster) {
	w := newStuck()
	owner := c.Open(t, Options{World: w.World, Unchecked: true})
	run := start(t, owner, chain(agent("a"), agent("b")))
	other := c.Open(t, Options{World: w.World, Unchecked: true, TakeOverAfter: takeOverAfter})
	ctx, stop := context.WithCancel(t.Context())
	var maintaining sync.WaitGroup
	maintaining.Go(func() { other.Maintain(ctx) })
	time.Sleep(time.Minute)
	for _, p := range []Process{owner, other} {
		p.Mute(true)
	}
	time.Sleep(10 * takeOverAfter)
	for _, p := range []Process{other, owner} {
		p.Mute(false)
	}
	time.Sleep(2 * takeOverAfter)
	close(w.free)
	settle(t, c, owner, run, event.StatusCompleted)
	if n := w.Count("model", "b"); n != 1 {
		t.Errorf("%d calls of b: the run was taken from a process that could give no sign of life", n)
	}
	stop()
	maintaining.Wait()
	closeAll(t, other, owner)
}

// testTakeOver checks that a run is taken immediately from a living process when a person says so,
// and that its former owner learns of it at the next append.
func testTakeOver(t *testing.T, c Cluster) {
	w := newStuck()
	hung := c.Open(t, Options{World: w.World, Unchecked: true})
	run := start(t, hung, chain(agent("a"), agent("b"), agent("c")))
	time.Sleep(2 * time.Second)
	heir := c.Open(t, Options{World: w.World, Unchecked: true})
	former, err := heir.TakeOver(t.Context(), run)
	if err != nil || former.ID == "" || former.Seen.IsZero() {
		t.Fatalf("the run was taken from %+v, %v", former, err)
	}
	if former, err := heir.TakeOver(t.Context(), run); err != nil || former.ID != "" {
		t.Fatalf("a run without owner was taken from %+v, %v", former, err)
	}
	if err := heir.Cancel(t.Context(), run, "it hangs"); err != nil {
		t.Fatal(err)
	}
	settle(t, c, heir, run, event.StatusCancelled)
	before := c.Events(t, run)
	close(w.free)
	synctest.Wait()
	if after := c.Events(t, run); len(after) != len(before) {
		t.Errorf("a fenced owner wrote %d events", len(after)-len(before))
	}
	closeAll(t, heir, hung)
}
