package live_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

var sameMessages = cmp.AllowUnexported(message{})

// TestStreamDeleted deletes a run while it is watched: the stream breaks off without an end
// message, and a client that reconnects learns that the run does not exist.
func TestStreamDeleted(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", plain)
	run := start(t, s, enginetest.Graph([]workflow.Node{enginetest.Agent("a"), enginetest.Approval("ok")}, "a -> ok"))
	srv, h := serve(t, s, live.Config{})
	st := connect(t, srv.URL+live.Path(run), "")
	last := message{}
	for ok := true; ok && last.kind != "run.paused"; {
		last, ok = st.next()
	}
	if res, err := s.Prune(t.Context(), journal.PruneQuery{Runs: []string{run}}); err != nil || res.Runs != 1 {
		t.Fatalf("deleted: %+v, %v", res, err)
	}
	if rest := st.rest(); len(rest) != 0 {
		t.Errorf("after it was deleted came %s", kinds(rest))
	}
	h.Idle(1)
	if again := connect(t, srv.URL+live.Path(run), last.id); again.status != http.StatusNotFound {
		t.Errorf("who comes back gets %d", again.status)
	}
}

// TestStream_Complete checks P22: a stream delivers the whole journal, then reports that the run
// has ended, and ends.
func TestStream_Complete(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", plain)
	run := finished(t, s, chain(3))
	srv, h := serve(t, s, live.Config{})
	st := connect(t, srv.URL+live.Path(run), "")
	got, want := st.rest(), stored(t, s, run)
	last := want[len(want)-1].id
	if st.recorded != last {
		t.Errorf("the stream begins with %q recorded events, not %s", st.recorded, last)
	}
	want = append(want, message{last, "end", fmt.Sprintf(`{"run":%q,"seq":%s,"status":"completed"}`, run, last)})
	if diff := cmp.Diff(got, want, sameMessages); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if st.retry == "" {
		t.Error("the client is not told when to come back")
	}
	if again := connect(t, srv.URL+live.Path(run), last); again.status != http.StatusNoContent {
		t.Errorf("who comes back after the end gets %d", again.status)
	}
	if again := connect(t, srv.URL+live.Path(run)+"?after="+last, ""); again.status != http.StatusNoContent {
		t.Errorf("who asks for what is after the end gets %d", again.status)
	}
	if h.Close(); h.Watchers() != 0 {
		t.Errorf("%d streams are left", h.Watchers())
	}
}

// TestStream_ReconnectAfterEachEvent checks P22: the connection is cut after every event in turn,
// and continues with Last-Event-ID; the union equals the stored log, in order, each event once.
// This holds in every view, with rings that hold everything and with rings that hold next to
// nothing.
func TestStream_ReconnectAfterEachEvent(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", plain)
	run := finished(t, s, chain(4))
	for _, ring := range []int{0, 1, 900} {
		srv, _ := serve(t, s, live.Config{RingBytes: ring})
		for _, view := range []string{"", "?view=logs", "?mode=values", "?mode=updates,debug",
			"?types=step.completed,run.completed"} {
			whole := connect(t, srv.URL+live.Path(run)+view, "").rest()
			if view == "" {
				if diff := cmp.Diff(events(whole), stored(t, s, run), sameMessages); diff != "" {
					t.Fatalf("whole (-got +want):\n%s", diff)
				}
			}
			var union []message
			last := ""
			for {
				st := connect(t, srv.URL+live.Path(run)+view, last)
				if st.status == http.StatusNoContent {
					break
				}
				m, ok := st.next()
				st.cut()
				if !ok || m.kind == live.TypeEnd {
					union = append(union, m)
					break
				}
				union, last = append(union, m), m.id
			}
			if end := whole[len(whole)-1]; len(union) == len(whole)-1 && union[len(union)-1].id == end.id {
				union = append(union, end) // a client with the last event receives 204 instead
			}
			if diff := cmp.Diff(union, whole, sameMessages); diff != "" {
				t.Errorf("ring %d, view %q (-got +want):\n%s", ring, view, diff)
			}
		}
	}
}

// TestStream_ReconnectWhileRunning is TestStream_ReconnectAfterEachEvent with random cuts while the
// run continues, driven by this process and by another one (P22).
func TestStream_ReconnectWhileRunning(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"here", "elsewhere"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{}, 1)
			db := onDisk(t)
			drives := open(t, db, gated(gate))
			shows := drives
			if where == "elsewhere" {
				shows = open(t, db, gated(nil))
			}
			srv, _ := serve(t, shows, live.Config{})
			for seed := range randtest.Seeds(6) {
				rng := rand.New(rand.NewPCG(seed, 6))
				run := start(t, drives, chain(3))
				var got []message
				seen := uint64(0)
				for ended := false; !ended; {
					if last, _ := seqOf(t, drives, run); last == seen {
						select { // the run waits for the model
						case gate <- struct{}{}:
						default:
						}
					}
					st := connect(t, srv.URL+live.Path(run), strconv.FormatUint(seen, 10))
					ended = st.status == http.StatusNoContent
					for n := 1 + rng.IntN(4); n > 0 && !ended; {
						if last, _ := seqOf(t, drives, run); last == seen {
							select {
							case gate <- struct{}{}:
							default:
							}
						}
						m, ok := st.next()
						switch {
						case !ok || m.kind == live.TypeEnd:
							ended = true
						case m.id != "":
							got = append(got, m)
							seen, _ = strconv.ParseUint(m.id, 10, 64)
							n--
						}
					}
					st.cut()
				}
				if diff := cmp.Diff(got, stored(t, drives, run), sameMessages); diff != "" {
					t.Fatalf("seed %d (-got +want):\n%s", seed, diff)
				}
			}
		})
	}
}

// TestStreamPaused checks that a run that waits for a person keeps the stream open, and that the
// run continues in the same stream after the answer.
func TestStreamPaused(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", plain)
	run := start(t, s, enginetest.Graph([]workflow.Node{enginetest.Agent("a"), enginetest.Approval("ok"),
		enginetest.Agent("b")}, "a -> ok; ok:approve -> b"))
	srv, h := serve(t, s, live.Config{})
	st := connect(t, srv.URL+live.Path(run), "")
	var got []message
	for {
		m, ok := st.next()
		if !ok {
			t.Fatalf("the stream ended after %s", kinds(got))
		}
		got = append(got, m)
		if m.kind == "run.paused" {
			break
		}
	}
	if h.Watchers() != 1 {
		t.Fatal("the stream of a paused run is closed")
	}
	answer(t, s, run)
	got = append(got, st.rest()...)
	if diff := cmp.Diff(events(got), stored(t, s, run), sameMessages); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if got[len(got)-1].kind != live.TypeEnd {
		t.Errorf("the last message is %s", got[len(got)-1].kind)
	}
}

// TestStreamReopened checks that a client that reconnects to a run that was ended by a limit and
// then reopened receives the further events, each once.
func TestStreamReopened(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", plain)
	w := chain(3)
	two := 2
	w.Limits.MaxSteps = &two
	run := finished(t, s, w)
	srv, _ := serve(t, s, live.Config{})
	got := events(connect(t, srv.URL+live.Path(run), "").rest())
	if got[len(got)-1].kind != "run.failed" {
		t.Fatalf("the run did not meet its limit: %s", kinds(got))
	}
	ten := 10
	if err := s.Reopen(t.Context(), run, workflow.Limits{MaxSteps: &ten},
		event.LocalBy(event.ChannelCLI)); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Wait(t.Context(), run); err != nil || st.Status != event.StatusCompleted {
		t.Fatalf("%s: %v", st.Status, err)
	}
	got = append(got, events(connect(t, srv.URL+live.Path(run), got[len(got)-1].id).rest())...)
	if diff := cmp.Diff(got, stored(t, s, run), sameMessages); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

// TestStreamHead checks the response to a HEAD request, which starts no stream.
func TestStreamHead(t *testing.T) {
	t.Parallel()
	s := open(t, ":memory:", gated(nil))
	run := start(t, s, chain(1))
	srv, h := serve(t, s, live.Config{})
	resp, err := http.Head(srv.URL + live.Path(run))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" ||
		resp.Header.Get("Cache-Control") != "no-store" || h.Watchers() != 0 {
		t.Errorf("%s %v, %d streams", resp.Status, resp.Header, h.Watchers())
	}
}
