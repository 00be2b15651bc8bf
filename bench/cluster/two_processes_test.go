package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/internal/text"
)

// childURL is the environment variable that holds a child process's store URL, childWork the one
// that holds its work.
const (
	childURL  = "HOCKET_BENCH_CHILD"
	childWork = "HOCKET_BENCH_WORK"
)

// work describes what a process does: a number of concurrent runs, each with a number of calls.
type work struct {
	runs, steps, maxCalls int
	call                  time.Duration
}

const workForm = "%d %d %d %d"

func (w work) String() string {
	return fmt.Sprintf(workForm, w.runs, w.steps, w.maxCalls, w.call.Microseconds())
}

// fake answers each call after a delay.
type fake struct{ call time.Duration }

// Call implements model.Client.
func (f fake) Call(ctx context.Context, _ model.Request, _ func(model.Delta)) (model.Reply, error) {
	if f.call > 0 {
		t := time.NewTimer(f.call)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
	}
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: text.Of("x")},
		Usage: &chat.Usage{InputTokens: 1, OutputTokens: 1}, Model: "own/m"}, nil
}

// openService opens a service with fake models, and loads a workflow with as many calls as wk
// specifies.
func openService(ctx context.Context, url string, wk work) (*service.Service, service.StartRequest, error) {
	s, err := service.Open(ctx, service.Config{
		Documents: linked.Kit(),
		DB:        url, Stores: store.Servers{Postgres: pghome.New(nil)}, MaxCalls: wk.maxCalls,
		Models: map[string]model.Client{"own": fake{wk.call}},
		Env:    func(name string) string { return map[string]string{"HOCKET_MODEL": "own/m"}[name] },
	})
	if err != nil {
		return nil, service.StartRequest{}, err
	}
	doc := []byte(chain(wk.steps))
	w, list, err := s.Load(ctx, "chain.yaml", doc, service.LoadOptions{Model: "own/m"})
	if err = errors.Join(err, list.Err()); err != nil {
		return nil, service.StartRequest{}, errors.Join(err, s.Close())
	}
	return s, service.StartRequest{Workflow: w, Model: "own/m", Input: "x"}, nil
}

// child opens a store, reports that it is ready, waits for a line on in and does its work.
func child(ctx context.Context, url string, in io.Reader, out io.Writer) (err error) {
	var wk work
	var call int64
	if _, err := fmt.Sscanf(os.Getenv(childWork), workForm, &wk.runs, &wk.steps, &wk.maxCalls, &call); err != nil {
		return err
	}
	wk.call = time.Duration(call) * time.Microsecond
	s, start, err := openService(ctx, url, wk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	one := func() error {
		id, err := s.Start(ctx, start)
		if err != nil {
			return err
		}
		if st, err := s.Wait(ctx, id); err != nil || st.Status != event.StatusCompleted {
			return fmt.Errorf("run %s is %s: %w", id, st.Status, err)
		}
		return nil
	}
	if err := one(); err != nil { // warms up connections
		return err
	}
	fmt.Fprintln(out, "ready")
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return err
	}
	all := make([]error, wk.runs)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = one() })
	}
	wg.Wait()
	fmt.Fprintln(out, "done")
	return errors.Join(all...)
}

// measureRate runs wk in several processes at the same time on a new store, and returns the records
// per second.
func measureRate(b *testing.B, processes int, wk work) float64 {
	b.Helper()
	url := pgtest.URL(b)
	openJournal(b, url) // creates the tables
	type one struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
	}
	var all []one
	for range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Stderr = append(os.Environ(), childURL+"="+url, childWork+"="+wk.String()), os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		all = append(all, one{cmd, in, bufio.NewReader(out)})
	}
	said := func(want string) {
		for _, p := range all {
			if line, err := p.out.ReadString('\n'); err != nil || line != want+"\n" {
				b.Fatalf("a process says %q, not %q: %v", line, want, err)
			}
		}
	}
	said("ready")
	began := time.Now()
	for _, p := range all {
		if _, err := fmt.Fprintln(p.in, "go"); err != nil {
			b.Fatal(err)
		}
	}
	said("done")
	took := time.Since(began)
	for _, p := range all {
		if err := p.cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(processes*wk.runs*(wk.steps+1)) / took.Seconds()
}

// BenchmarkTwoProcesses compares 1,000 runs in one process with 500 in each of two, with calls that
// take no time, and with 20 ms calls, of which each process makes at most 50 concurrently.
func BenchmarkTwoProcesses(b *testing.B) {
	for _, bc := range []struct {
		name string
		work
		goal float64
	}{
		{"call=0", work{steps: 10, maxCalls: 4096}, 1},
		{"call=20ms", work{steps: 5, maxCalls: 50, call: 20 * time.Millisecond}, 1.5},
	} {
		b.Run(bc.name, func(b *testing.B) {
			var one, two, ratios []float64
			for b.Loop() {
				alone, half := bc.work, bc.work
				alone.runs, half.runs = 1000, 500
				o, t := measureRate(b, 1, alone), measureRate(b, 2, half)
				one, two, ratios = append(one, o), append(two, t), append(ratios, t/o)
			}
			b.ReportMetric(median(one), "one-records/s")
			b.ReportMetric(median(two), "two-records/s")
			atLeast(b, "of-one", median(ratios), bc.goal)
		})
	}
}
