package run_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// SEC17: no more concurrent starts succeed than the limit allows, rejected ones store nothing and
// name the limit, and there is room again when runs end.
func TestMaxRuns(t *testing.T) {
	t.Parallel()
	const most = 5
	s := opened(t, filepath.Join(t.TempDir(), "hocket.db"), replyWithAgentName, func(c *service.Config) {
		c.MaxRuns = most
	})
	w := agentGraph("", enginetest.Approval("ok"))
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		runs []string
	)
	for range 4 * most {
		wg.Go(func() {
			run, err := s.Start(t.Context(), service.StartRequest{Workflow: w})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				runs = append(runs, run)
				return
			}
			if limit, ok := errors.AsType[*service.LimitError](err); !ok || limit.Max != most ||
				service.CodeOf(err) != service.CodeLimit ||
				!strings.Contains(err.Error(), "5 runs that have not ended") {
				t.Errorf("one more: %v, want *LimitError", err)
			}
		})
	}
	wg.Wait()
	heads, _, err := s.List(t.Context(), journal.Query{})
	if err != nil || len(runs) != most || len(heads) != most {
		t.Fatalf("%d runs began and %d are stored, %v; want %d", len(runs), len(heads), err, most)
	}
	for i, run := range runs {
		paused(t, s, run)
		if i%2 == 0 {
			approve(t, s, run)
			ended(t, s, run)
		} else if err := s.Cancel(t.Context(), run, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w}); err != nil {
			t.Errorf("after a run ended: %v", err)
		}
		if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w}); service.CodeOf(err) != service.CodeLimit {
			t.Errorf("one more after that: %v, want *LimitError", err)
		}
	}
}

// SEC17: the command line has no such limits, and a server has them by default; the operator's take
// precedence over its own.
func TestLimits_Defaults(t *testing.T) {
	t.Parallel()
	operator := &config.Config{Server: config.Server{Limits: config.ServerLimits{Runs: 1, Input: 3}}}
	tests := []struct {
		name     string
		kind     journal.Kind
		operator *config.Config
		input    int
		want     service.Code
	}{
		{"server, default", journal.KindServe, nil, service.DefaultMaxInput + 1, service.CodeInvalid},
		{"server, the operator's", journal.KindServe, operator, 4, service.CodeInvalid},
		{"command line", journal.KindRun, operator, 4, service.CodeInternal},
		{"command line, large", journal.KindRun, nil, service.DefaultMaxInput + 1, service.CodeInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, "", replyWithAgentName, func(c *service.Config) {
				c.Kind, c.Operator = tt.kind, tt.operator
			})
			q := service.StartRequest{Workflow: agentGraph("", enginetest.Approval("ok")),
				Input: strings.Repeat("x", tt.input)}
			_, err := s.Start(t.Context(), q)
			if refused := err != nil; refused != (tt.want == service.CodeInvalid) || refused &&
				service.CodeOf(err) != tt.want {
				t.Errorf("an input of %d bytes: %v", tt.input, err)
			}
			if err != nil && !strings.Contains(err.Error(), "the limit is") {
				t.Errorf("%v does not name the limit", err)
			}
			q.Input = "x"
			for i := range 3 {
				_, err := s.Start(t.Context(), q)
				if want := i > 0 && tt.operator != nil && tt.kind == journal.KindServe; (err != nil) != want {
					t.Errorf("run %d: %v", i, err)
				}
			}
		})
	}
}

// P10, D26: a long-running process deletes runs that ended too long ago, immediately and
// periodically, and keeps waiting runs unless the operator sets a limit.
func TestRetention(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, tt := range []struct {
		name string
		keep config.Retention
		// remaining runs after 1, 20, 30, 60 and 90 days: one of three has ended, one waits, one is
		// cancelled at the end of day 30
		want []int
	}{
		{"as D26", config.Retention{}, []int{3, 3, 2, 1, 1}},
		{"ended longer", config.Retention{Ended: config.Duration(60 * day)}, []int{3, 3, 3, 2, 1}},
		{"paused, too", config.Retention{Paused: config.Duration(60 * day)}, []int{3, 3, 2, 0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := service.Open(t.Context(), service.Config{
					Documents: linked.Kit(),
					DB:        service.Memory, Kind: journal.KindServe, Env: func(string) string { return "" },
					Operator: &config.Config{Retention: tt.keep},
				})
				if err != nil {
					t.Fatal(err)
				}
				var runs []string
				for range 3 {
					runs = append(runs,
						begin(t, s, service.StartRequest{Workflow: agentGraph("", enginetest.Approval("ok"))}))
					synctest.Wait()
				}
				approve(t, s, runs[0])
				synctest.Wait()
				began := time.Now()
				until := func(at time.Duration) { time.Sleep(time.Until(began.Add(at))) }
				for i, days := range []int{1, 20, 30, 60, 90} {
					at := time.Duration(days)*day + 2*time.Hour
					// It checks immediately, when nothing of that day is due yet, and again every
					// hour. Nothing checks on the days in between, which would only cost time.
					until(at - 3*time.Hour)
					stop := tend(t, s)
					if days == 30 {
						until(30 * day)
						if err := s.Cancel(t.Context(), runs[2], ""); err != nil {
							t.Fatal(err)
						}
					}
					until(at)
					synctest.Wait()
					heads, _, err := s.List(t.Context(), journal.Query{})
					if err != nil || len(heads) != tt.want[i] {
						t.Errorf("after %d days: %d runs, %v; want %d", days, len(heads), err, tt.want[i])
					}
					stop()
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// P33: the operator's reminder applies to all waits that specify none, of any kind, and appears in
// the feed.
func TestOperatorsReminder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := service.Open(t.Context(), service.Config{
			Documents: linked.Kit(),
			DB:        service.Memory, Kind: journal.KindServe, Env: func(string) string { return "" },
			Operator: &config.Config{
				Server: config.Server{Reminders: config.Reminders{After: config.Duration(time.Hour)}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := tend(t, s)
		late := enginetest.Approval("late")
		late.Wait.Remind = 0
		run := begin(t, s, service.StartRequest{Workflow: agentGraph("", late)})
		var told []string
		for n, err := range s.Feed(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			about, err := s.Noticed(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, fmt.Sprintf("%s %s", n.Type, about.Event.At.Sub(about.Head.Created).Round(time.Minute)))
			if n.Type == "wait.reminded" {
				break
			}
		}
		if got := strings.Join(told, ", "); got != "wait.opened 0s, wait.reminded 1h0m0s" {
			t.Errorf("told %s", got)
		}
		if o := ended(t, s, run); o.Status != event.StatusPaused || len(o.Waiting) != 1 {
			t.Errorf("after the reminder the run is %s", o.Status)
		}
		stop()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// tend makes a service do the work of a long-running process until stop is called.
func tend(t *testing.T, s *service.Service) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		s.Maintain(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
