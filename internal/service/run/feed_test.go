package run_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// notable returns the events of a run that result in notices, by seq.
func notable(t *testing.T, s *service.Service, run string) []string {
	t.Helper()
	events, err := s.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range events {
		if typ := string(e.Data.Type()); strings.HasPrefix(typ, "wait.") ||
			slices.Contains([]string{"run.completed", "run.failed", "run.cancelled"}, typ) {
			list = append(list, fmt.Sprintf("%s %d %s", run, e.Seq, typ))
		}
	}
	return list
}

// TestFeed checks that a feed reports the contents of each run's journal, once, in order: for runs
// of this process and of another, live and read later, starting at any notice.
func TestFeed(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	here, there := opened(t, db, replyWithAgentName), opened(t, db, replyWithAgentName)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var live []journal.Notice
	done := make(chan error)
	ends := make(chan string, 100)
	go func() {
		for n, err := range here.Feed(ctx, 0) {
			if err != nil {
				done <- err
				return
			}
			live = append(live, n)
			if strings.HasPrefix(n.Type, "run.") {
				ends <- n.Run
			}
		}
	}()

	w := agentGraph("ok:approve -> a; ok:reject -> a", enginetest.Approval("ok"), enginetest.Agent("a"))
	var runs []string
	for i, s := range []*service.Service{here, there, here, there} {
		run := begin(t, s, service.StartRequest{Workflow: w})
		runs = append(runs, run)
		paused(t, s, run)
		if i < 2 {
			approve(t, here, run)
			ended(t, here, run)
		} else if err := there.Cancel(t.Context(), run, ""); err != nil {
			t.Fatal(err)
		}
	}
	for range runs {
		<-ends
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a feed whose context is done: %v", err)
	}

	for _, run := range runs {
		var got []string
		for _, n := range live {
			if n.Run == run {
				got = append(got, fmt.Sprintf("%s %d %s", n.Run, n.Seq, n.Type))
			}
		}
		if diff := cmp.Diff(got, notable(t, here, run)); diff != "" {
			t.Errorf("notices of a run (-got +its journal):\n%s", diff)
		}
	}
	last, err := there.LastNotice(t.Context())
	if err != nil || last != live[len(live)-1].ID {
		t.Errorf("last notice %d, %v; want %d", last, err, live[len(live)-1].ID)
	}
	for i, n := range live {
		about, err := there.Noticed(t.Context(), n)
		if err != nil || about.Head.Run != n.Run || about.Event.Seq != n.Seq ||
			string(about.Event.Data.Type()) != n.Type {
			t.Errorf("notice %+v is about %+v, %v", n, about, err)
		}
		var rest []journal.Notice
		for m, err := range there.Feed(t.Context(), n.ID) {
			if err != nil {
				t.Fatal(err)
			}
			if rest = append(rest, m); m.ID == last {
				break
			}
		}
		if n.ID != last && !cmp.Equal(rest, live[i+1:]) {
			t.Errorf("after notice %d: %v, want %v", n.ID, rest, live[i+1:])
		}
		if i == len(live)-2 {
			break // after the last notice a feed waits
		}
	}
}

// TestNoticedPruned checks that a notice whose run was pruned results in an error.
func TestNoticedPruned(t *testing.T) {
	t.Parallel()
	s := opened(t, "", replyWithAgentName)
	run := begin(t, s, service.StartRequest{Workflow: agentGraph("", enginetest.Agent("a"))})
	if o := ended(t, s, run); o.Status != event.StatusCompleted {
		t.Fatal(o.Status)
	}
	n := journal.Notice{Run: run, Seq: 1}
	for got, err := range s.Feed(t.Context(), 0) {
		if n = got; err != nil {
			t.Fatal(err)
		}
		break
	}
	if _, err := s.Prune(t.Context(), journal.PruneQuery{Runs: []string{run}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Noticed(t.Context(), n); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a notice of a pruned run: %v, want ErrNotFound", err)
	}
}
