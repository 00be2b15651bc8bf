//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

const (
	pairStarts = 16 // and the same number of deliveries
	pairSteps  = 4
	pairTicks  = 3 // planned times to wait for before and after the kill
)

// tick is a workflow that a schedule starts every second.
const tick = `{"id": "tick", "agents": [{"id": "w", "name": "Watcher", "systemPrompt": "tick", "model": "openai/m"}],
 "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "w"}}], "edges": [], "executionMode": "interval", ` +
	`"schedule": "1"}`

// chain is the workflow that starts and deliveries run.
func chain() string {
	var doc strings.Builder
	doc.WriteString("name: chain\nagents:\n")
	for i := range pairSteps {
		fmt.Fprintf(&doc, "  A%d: {model: openai/m, instruction: step %[1]d}\n", i+1)
	}
	doc.WriteString("workflow:\n")
	for i := range pairSteps {
		fmt.Fprintf(&doc, "  - {type: agent, name: A%d}\n", i+1)
	}
	return doc.String()
}

// side is one of the two servers, with its own model, so that each reply shows which server
// requested it.
type side struct {
	*load
	name string
	p    *process
	env  []string

	mu      sync.Mutex
	replies []string // replies sent
	onReply func()   // called when the next reply is sent
}

var pairInput = regexp.MustCompile(`(key|hook) \d+`)

func newSide(t *testing.T, home, db, name string) *side {
	s := &side{load: &load{home: home}, name: name}
	s.model = modeltest.Start(t, s.answer)
	s.env = []string{"OPENAI_BASE_URL=" + s.model.BaseURL(), "OPENAI_API_KEY=k", "HOCKET_DB=" + db}
	s.p = serve(t, home, s.env)
	s.url.Store(&s.p.url)
	return s
}

// answer returns a text that is unique to the call: the input of the run, the step, and a number.
func (s *side) answer(r modeltest.Request) modeltest.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("%s %s #%s%d", pairInput.FindString(r.LastText()), r.System, s.name, len(s.replies))
	s.replies = append(s.replies, text)
	if s.onReply != nil {
		s.onReply()
	}
	return modeltest.Answer{Text: text, Latency: loadLatency}
}

// TestPair sends starts with keys, webhook deliveries and the times of a schedule to two servers on
// one store; each key and each delivery reaches both, repeatedly. The server that runs the
// schedules is killed in the middle. Each key, each delivery and each planned time has one run,
// every accepted run ends, and no journaled reply was requested again (P19, P23, SEC18, D8).
func TestPair(t *testing.T) {
	faultmatrix.Proves(t, "killed-leading")
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		home := t.TempDir()
		playPair(t, home, filepath.Join(home, "hocket.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		playPair(t, t.TempDir(), pgtest.URL(t))
	})
}

func playPair(t *testing.T, home, db string) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	a := newSide(t, home, db, "A")
	a.applyTo(t, "chain", chain())
	a.applyTo(t, "tick", tick)
	status, made, err := a.do(ctx, http.MethodPost, "/api/v1/webhooks", []byte(`{"workflow": "chain"}`))
	var hook struct{ URL, Secret string }
	if err != nil || json.Unmarshal(made, &hook) != nil || status != http.StatusCreated {
		t.Fatal(status, string(made), err)
	}
	p := &pair{t: t, a: a, b: newSide(t, home, db, "B"), db: db, hook: hook.URL, secret: hook.Secret,
		runs: map[string]string{}}
	p.waitTicks(ctx, pairTicks)

	var asks sync.WaitGroup
	kill := make(chan struct{})
	a.mu.Lock()
	left := 2 * pairStarts // the first server alone starts a third of the runs, which make more calls than that
	a.onReply = func() {
		if left--; left == 0 {
			close(kill)
		}
	}
	a.mu.Unlock()
	for i := range pairStarts {
		first, second := p.a, p.b
		if i%3 == 1 {
			first, second = second, first
		}
		for _, ask := range []func(context.Context, *side, int){p.start, p.deliver} {
			if i%3 == 2 { // concurrently
				asks.Go(func() { ask(ctx, first, i) })
				asks.Go(func() { ask(ctx, second, i) })
				continue
			}
			asks.Go(func() {
				ask(ctx, first, i)
				ask(ctx, second, i)
			})
		}
	}
	select {
	case <-kill:
	case <-ctx.Done():
		t.Fatalf("the first server did not get half through: %s", a.p.said())
	}
	if said := a.p.said(); !strings.Contains(said, "msg=leading") {
		t.Errorf("the server that is killed does not mind the schedules: %s", said)
	}
	a.p.kill()
	a.url.Store(&p.b.p.url) // clients of the first server continue with the second
	asks.Wait()
	p.waitCompleted(ctx)
	p.waitTicks(ctx, pairTicks)
	for i := range pairStarts { // a repeated request returns the same run
		p.start(ctx, p.b, i)
		p.deliver(ctx, p.b, i)
	}
	if status, data, err := p.b.do(ctx, http.MethodDelete, "/api/v1/workflows/tick", nil); err != nil ||
		status != http.StatusNoContent {
		t.Fatal(status, string(data), err)
	}
	p.waitIdle(ctx)
	p.b.p.kill()
	p.check()
}

// pair holds the two servers, and the runs by the request that started them.
type pair struct {
	t            *testing.T
	a, b         *side
	db           string // shared by both
	hook, secret string

	mu   sync.Mutex
	runs map[string]string
}

// recordRun records the run of a request, and checks that the request has only one.
func (p *pair) recordRun(what, run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.runs[what]; run == "" || known != "" && known != run {
		p.t.Errorf("%s has the runs %q and %q", what, known, run)
	}
	p.runs[what] = run
}

// start starts a run with a key.
func (p *pair) start(ctx context.Context, s *side, i int) {
	what := fmt.Sprintf("key %d", i)
	status, data := s.insist(ctx, p.t, http.MethodPost, "/api/v1/runs",
		fmt.Appendf(nil, `{"workflow": "chain", "input": %q}`, what), "Idempotency-Key", what)
	var run struct{ ID string }
	if err := json.Unmarshal(data, &run); err != nil || status != http.StatusCreated && status != http.StatusOK {
		p.t.Errorf("%s: %d %s %v", what, status, data, err)
		return
	}
	p.recordRun(what, run.ID)
}

// deliver sends a delivery until it is answered.
func (p *pair) deliver(ctx context.Context, s *side, i int) {
	what := fmt.Sprintf("hook %d", i)
	run, err := deliver(ctx, s.load, p.hook, p.secret, fmt.Sprintf("msg_%d", i), what)
	if err != nil {
		p.t.Error(err)
		return
	}
	p.recordRun(what, run)
}

// waitCompleted waits until all requested runs have completed.
func (p *pair) waitCompleted(ctx context.Context) {
	p.t.Helper()
	for what, id := range p.runs {
		for {
			status, data := p.b.insist(ctx, p.t, http.MethodGet, "/api/v1/runs/"+id, nil)
			var run struct{ Status, Output string }
			if err := json.Unmarshal(data, &run); err != nil || status != http.StatusOK {
				p.t.Fatalf("%s: %d %s %v", what, status, data, err)
			}
			if run.Status == "completed" {
				if !strings.HasPrefix(run.Output, fmt.Sprintf("%s step %d #", what, pairSteps)) {
					p.t.Errorf("%s gave %q", what, run.Output)
				}
				break
			}
			if run.Status == "failed" || run.Status == "cancelled" || run.Status == "paused" {
				p.t.Fatalf("%s: %s", what, data)
			}
			pause(ctx)
		}
	}
}

// waitTicks waits until the schedule has started more runs.
func (p *pair) waitTicks(ctx context.Context, more int) {
	p.t.Helper()
	before := -1
	for ctx.Err() == nil {
		n := p.count(ctx, "workflow=tick&status=completed")
		if before < 0 {
			before = n
		}
		if n >= before+more {
			return
		}
		pause(ctx)
	}
	p.t.Fatalf("the schedule starts nothing: %s%s", p.a.p.said(), p.b.p.said())
}

// waitIdle waits until no run is in progress.
func (p *pair) waitIdle(ctx context.Context) {
	p.t.Helper()
	for p.count(ctx, "status=running")+p.count(ctx, "status=pending") > 0 {
		if ctx.Err() != nil {
			p.t.Fatal("runs do not end")
		}
		pause(ctx)
	}
}

// count returns the number of runs that match a query.
func (p *pair) count(ctx context.Context, query string) int {
	p.t.Helper()
	status, data := p.b.insist(ctx, p.t, http.MethodGet, "/api/v1/runs?limit=200&"+query, nil)
	var page struct {
		Items []struct{ ID string }
		Next  string
	}
	if err := json.Unmarshal(data, &page); err != nil || status != http.StatusOK || page.Next != "" {
		p.t.Fatalf("%d %s %v", status, data, err)
	}
	return len(page.Items)
}

// check checks the store, which no server uses any more.
func (p *pair) check() {
	t := p.t
	at, err := store.Parse(p.db, store.Servers{Postgres: pghome.New(nil)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := service.Look(t.Context(), service.Config{Documents: linked.Kit(), At: at})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heads, next, err := s.List(t.Context(), journal.Query{Limit: 1000})
	if err != nil || next != "" {
		t.Fatal(err, next)
	}
	journaled, ofRun := map[string]int{}, map[string]string{}
	chains, planned := 0, map[string]bool{}
	for _, h := range heads {
		want := pairSteps
		if h.Workflow == "tick" {
			want = 1
			at, err := time.Parse(time.RFC3339Nano, h.Meta["planned"])
			if err != nil || h.Run != driver.DerivedRunID(at, "tick", "") || planned[h.Meta["planned"]] {
				t.Errorf("run %s is of the planned time %q, %v", h.Run, h.Meta["planned"], err)
			}
			planned[h.Meta["planned"]] = true
		} else {
			chains++
		}
		if h.Status != journal.StatusCompleted {
			t.Errorf("run %s of %s is %s", h.Run, h.Workflow, h.Status)
		}
		events, err := s.Events(t.Context(), h.Run, 0)
		if err != nil {
			t.Fatal(err)
		}
		replies := 0
		for _, e := range events {
			if d, ok := e.Data.(*event.ModelReplied); ok {
				replies++
				journaled[d.Message.Text.String()]++
				ofRun[pairInput.FindString(d.Message.Text.String())] = h.Run
			}
		}
		if replies != want {
			t.Errorf("run %s of %s has %d replies, want %d", h.Run, h.Workflow, replies, want)
		}
	}
	if chains != 2*pairStarts || len(p.runs) != 2*pairStarts {
		t.Errorf("%d runs for %d keys and deliveries, want %d", chains, len(p.runs), 2*pairStarts)
	}
	if len(planned) < 2*pairTicks {
		t.Errorf("%d planned times", len(planned))
	}
	for text, n := range journaled {
		if n != 1 {
			t.Errorf("the reply %q is in the store %d times", text, n)
		}
	}
	// The second server was not killed before everything was done: if it had requested a journaled
	// reply again, that reply would be in no journal. The first server loses the calls in flight
	// when it was killed, at most one per run.
	for _, text := range p.b.replies {
		if journaled[text] == 0 {
			t.Errorf("the second server was given %q, which no run has: the call was made again (D8)", text)
		}
	}
	lost := map[string]int{}
	for _, text := range p.a.replies {
		if journaled[text] == 0 {
			lost[pairInput.FindString(text)]++
		}
	}
	for what, n := range lost {
		if n > 1 {
			t.Errorf("%d calls of %q (run %s) were lost by the kill, which were not in flight at once", n, what,
				ofRun[what])
		}
	}
	if len(p.a.replies) == 0 || len(p.b.replies) == 0 {
		t.Errorf("the servers made %d and %d calls: one of them did nothing", len(p.a.replies), len(p.b.replies))
	}
	t.Logf("%d runs, %d planned times; %d calls by the first server, of which %d were in flight when it was killed, "+
		"%d by the second",
		len(heads), len(planned), len(p.a.replies), len(lost), len(p.b.replies))
}
