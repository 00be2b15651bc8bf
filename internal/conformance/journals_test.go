package conformance_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/equaltest"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// playedRun is a run of a rule's document as executed by the rule's test, on an in-memory store.
type playedRun struct {
	cfg      service.Config
	request  service.StartRequest
	journals map[string][]event.Event // of the run and its child runs
}

// recorder collects the runs of one test.
type recorder struct {
	mu   sync.Mutex
	runs []*playedRun
}

// recorders are the recorders of recorded tests, by test name.
var recorders sync.Map

// record records the runs that were started in this world, in their current state.
func (w *world) record() {
	to, ok := recorders.Load(w.t.Name())
	if !ok {
		return
	}
	rec := to.(*recorder) //nolint:forcetypeassert // nothing else is in it
	all := equaltest.Memory().Journals(w.t, w.Service)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	for _, q := range w.begun {
		p := &playedRun{cfg: w.cfg, request: q, journals: map[string][]event.Event{}}
		for run, events := range all {
			if run == q.RunID || strings.HasPrefix(run, q.RunID+".") {
				p.journals[run] = events
			}
		}
		rec.runs = append(rec.runs, p)
	}
}

// maxRealWait is the maximum real time that a run may wait, since runs are replayed in real time.
const maxRealWait = 1500 * time.Millisecond

// maxEvents is the maximum number of events of a run, since each call reads them all.
const maxEvents = 500

// unplayable returns the reason why a run cannot be replayed from its journal, or "" if it can.
func (p *playedRun) unplayable(inRealTime bool) string {
	events := p.journals[p.request.RunID]
	if len(events) == 0 {
		return "it was deleted"
	}
	if w := p.request.Workflow; w != nil {
		for _, n := range w.Calls() {
			if c, _ := workflow.ParseCall(n.Tool.Workflow); c.File == "" {
				return "it runs a workflow of the test's catalog"
			}
		}
	}
	if len(events) > maxEvents {
		return fmt.Sprintf("it has more than %d events", maxEvents)
	}
	if waited := events[len(events)-1].At.Sub(events[0].At); !inRealTime && waited > maxRealWait {
		return "it waits for more than a second by the clock"
	}
	for _, all := range p.journals {
		open, atOnce, tools, failed := 0, false, false, false
		for _, e := range all {
			_, isTool := e.Data.(*event.ToolCalled)
			_, isFailed := e.Data.(*event.StepFailed)
			tools, failed, atOnce = tools || isTool, failed || isFailed, atOnce || open > 1
			switch d := e.Data.(type) {
			case *event.RunCancelling, *event.RunCancelled:
				return "it is cancelled at a moment of the test's"
			case *event.RunResumed:
				if d.Reason != "answer" {
					return "it goes on after " + d.Reason
				}
			case *event.RunCreated:
				if d.ForkedFrom != "" {
					return "it is a fork"
				}
			case *event.ModelFailed:
				if strings.HasPrefix(d.Error.Message, "time limit ") {
					return "a call of it takes longer than it may"
				}
				if d.Late {
					return "a call of it is cancelled, before or after it began"
				}
			case *event.StepCancelled:
				return "a call of it is cancelled, before or after it began"
			case *event.ModelCalled, *event.ToolCalled:
				open++
			}
			switch e.Data.(type) {
			case *event.ModelReplied, *event.ModelFailed, *event.ToolReturned, *event.ToolFailed:
				open--
			}
		}
		if tools && failed && atOnce {
			return "its tools are not held back, and a failure of one ends what else is at work"
		}
		switch all[len(all)-1].Data.(type) {
		case *event.RunCompleted, *event.RunFailed, *event.RunPaused:
		default:
			return "its test leaves it while it runs"
		}
		if open > 0 {
			return "its test leaves it while calls are made"
		}
	}
	if p.request.Stored != "" || usesCatalog(p) {
		return "it needs workflows of its test's catalog"
	}
	return ""
}

// usesCatalog reports whether the workflow has tools that are other workflows of the catalog.
func usesCatalog(p *playedRun) bool {
	raw, err := json.Marshal(p.request.Workflow)
	return err != nil || strings.Contains(string(raw), `"type":"workflow"`) ||
		strings.Contains(string(p.request.Tools), "type: workflow")
}

// replay is a model that replies to calls as recorded in a journal. It is called by a service that
// replays the run.
type replay struct {
	from    *playedRun
	service *service.Service

	mu    sync.Mutex
	given map[string]int // number of replies, by call
}

// nameOf returns a name for a call that does not contain order-dependent numbers: run, node,
// iteration, agent loop, and the number of earlier calls in that loop.
func nameOf(run string, events []event.Event, call string) string {
	step, iterations := 0, map[int]string{}
	frame := call[:max(strings.LastIndex(call, "."), 0)]
	var calls []string
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.StepStarted:
			iterations[e.Step] = fmt.Sprintf("%s#%d", e.Node, d.Iteration)
		case *event.ModelCalled:
			if d.Call == call {
				step = e.Step
			}
			if strings.HasPrefix(d.Call, frame+".") && !slices.Contains(calls, d.Call) {
				calls = append(calls, d.Call)
			}
		}
	}
	_, loop, _ := strings.Cut(frame, ".")
	return fmt.Sprintf("%s %s loop %s call %d", run, iterations[step], loop, slices.Index(calls, call))
}

// Call implements model.Client. Replies come in journal order, so that whatever depends on the
// order is equal too.
func (r *replay) Call(ctx context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	run, call, _ := strings.Cut(q.IdempotencyKey, "/")
	live, err := r.service.Events(ctx, run, 0)
	if err != nil {
		return model.Reply{}, err
	}
	name := nameOf(run, live, call)
	r.mu.Lock()
	n := r.given[name]
	r.given[name]++
	r.mu.Unlock()
	events := r.from.journals[run]
	for i, e := range events {
		var reply model.Reply
		var failure *model.Error
		switch d := e.Data.(type) {
		case *event.ModelReplied:
			call, reply = d.Call, model.Reply{Message: d.Message, Usage: d.Usage, Model: q.Model}
		case *event.ModelFailed:
			call, failure = d.Call, &model.Error{Kind: model.ErrorKind(d.Error.Code), Message: d.Error.Message,
				RetryAfter: time.Duration(d.Error.RetryAfterMS) * time.Millisecond, Usage: d.Usage}
		default:
			continue
		}
		if nameOf(run, events, call) != name {
			continue
		}
		if n--; n >= 0 {
			continue
		}
		if err := r.await(ctx, run, results(events[:i])); err != nil {
			return model.Reply{}, err
		}
		if failure != nil {
			return reply, failure
		}
		return reply, nil
	}
	return model.Reply{}, &model.Error{Kind: model.KindNoReply, Message: "the journal has no answer for " + name}
}

// signalOf returns the name of the signal that ends a wait, or "" if a person answers it.
func signalOf(events []event.Event, wait string) string {
	for _, e := range events {
		if d, ok := e.Data.(*event.WaitOpened); ok && d.Wait == wait && d.Below == nil {
			return d.Signal
		}
	}
	return ""
}

// results returns the number of external inputs of a run: results of calls, answers and signals.
func results(events []event.Event) (n int) {
	for _, e := range events {
		switch e.Data.(type) {
		case *event.ModelReplied, *event.ModelFailed, *event.WaitAnswered, *event.SignalReceived:
			n++
		}
	}
	return n
}

// await returns when a run has n results, as results counts them.
func (r *replay) await(ctx context.Context, run string, n int) error {
	for {
		live, err := r.service.Events(ctx, run, 0)
		if err != nil || results(live) >= n {
			return err
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *replay) live(t *testing.T, run string) []event.Event {
	t.Helper()
	events, err := r.service.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// openAt returns the waits that are open at the end of a journal.
func openAt(events []event.Event) []sim.OpenWait { return sim.OpenWaits(events) }

// replay replays the run on a driver and returns its journals.
func (p *playedRun) replay(t *testing.T, d equaltest.Driver) map[string][]event.Event {
	t.Helper()
	r := &replay{from: p, given: map[string]int{}}
	cfg := p.cfg
	cfg.Adapters = map[model.Protocol]model.Factory{model.ProtocolOpenAI: func(model.Endpoint) (model.Client, error) {
		return r, nil
	}}
	r.service = d.Open(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run := p.request.RunID
	if _, err := r.service.Start(ctx, p.request); err != nil {
		t.Fatal(err)
	}
	status := func() event.Status {
		t.Helper()
		st, err := r.service.Wait(ctx, run)
		if err != nil {
			live, _ := r.service.Events(t.Context(), run, 0)
			t.Fatalf("%v; the run has %d events of %d", err, len(live), len(p.journals[run]))
		}
		return st.Status
	}
	for i, e := range p.journals[run] {
		if s, ok := e.Data.(*event.SignalReceived); ok {
			if err := r.await(ctx, run, results(p.journals[run][:i])); err != nil {
				t.Fatalf("before the signal %s: %v", s.Signal, err)
			}
			if _, err := r.service.Signal(ctx, run, service.SignalRequest{Name: s.Signal, Value: s.Value, Key: s.Key,
				By: s.By}); err != nil {
				t.Fatalf("signal %s: %v", s.Signal, err)
			}
		}
		a, ok := e.Data.(*event.WaitAnswered)
		if !ok || a.By.Channel == event.ChannelApproveAll || a.Kept != 0 {
			continue
		}
		if err := r.await(ctx, run, results(p.journals[run][:i])); err != nil {
			t.Fatalf("before the answer to %s: %v", a.Wait, err)
		}
		for len(openAt(p.journals[run][:i])) > len(openAt(r.live(t, run))) {
			if ctx.Err() != nil {
				t.Fatalf("wait %s is not opened", a.Wait)
			}
			time.Sleep(2 * time.Millisecond)
		}
		value := a.Answer
		if a.Decision != "" {
			value = service.Decide(a.Decision)
		}
		if name := signalOf(p.journals[run][:i], a.Wait); name != "" {
			if _, err := r.service.Signal(ctx, run, service.SignalRequest{Name: name, Value: value, Key: a.Key,
				By: a.By}); err != nil {
				t.Fatalf("signal %s: %v", name, err)
			}
			continue
		}
		err := r.service.Answer(ctx, run, service.AnswerRequest{Node: e.Node, Value: value, Decision: a.Decision != "",
			Note: a.Note, Key: a.Key, By: a.By})
		if err != nil {
			t.Fatalf("answer %s: %v", a.Wait, err)
		}
	}
	status()
	return d.Journals(t, r.service)
}

var updateJournals = flag.Bool("update", false, "write testdata/journals.txt")

// TestJournalsAreEqual checks that the documents of each rule have equal journals on each store,
// with the same replies and answers. Runs that cannot be replayed are listed in
// testdata/journals.txt.
func TestJournalsAreEqual(t *testing.T) { compareRules(t, equaltest.Embedded()) }

func compareRules(t *testing.T, drivers []equaltest.Driver) {
	t.Helper()
	var mu sync.Mutex
	left, compared := map[string]int{}, 0
	t.Run("rules", func(t *testing.T) {
		for _, rules := range append(allRules(), seeds, requirements, catalogRules,
			stepsExtensions, stepsPolicies, stepsWorkflows, stepsMaps, stepsPeople, stepsFound, canvasExtensions,
			roundsExtensions, agentFallbacks, agentCompactions, inputRules, labelled, schedulesExtended, latestOutputs,
			deep) {
			for n, r := range rules {
				t.Run(r.name, func(t *testing.T) {
					t.Parallel()
					rec := &recorder{}
					recorders.Store(t.Name(), rec)
					defer recorders.Delete(t.Name())
					// The test's world ends with the test, and so does everything that its tools
					// need: a run that needs them is replayed before that.
					t.Run("played", func(t *testing.T) {
						recorders.Store(t.Name(), rec)
						defer recorders.Delete(t.Name())
						if r.outside {
							r.test(t)
							return
						}
						synctest.Test(t, r.test)
					})
					for i, p := range rec.runs {
						if why := p.unplayable(r.outside); why != "" {
							mu.Lock()
							left[r.name+": "+why]++
							mu.Unlock()
							continue
						}
						on := drivers
						if !longtest.Enabled() {
							if i > 0 {
								continue
							}
							on = drivers[n%len(drivers):][:1]
						}
						for _, d := range on {
							t.Run(fmt.Sprint("run ", i+1, " ", d.Name), func(t *testing.T) {
								equaltest.Compare(t, p.journals, p.replay(t, d))
							})
						}
						mu.Lock()
						compared++
						mu.Unlock()
					}
				})
			}
		}
	})
	t.Logf("%d runs were compared; of %d rules some were not", compared, len(left))
	checkList(t, slices.Sorted(maps.Keys(left)))
}

// checkList fails for a rule with runs that are not compared, unless the reason is in the list in
// testdata.
func checkList(t *testing.T, left []string) {
	t.Helper()
	const file = "testdata/journals.txt"
	if *updateJournals {
		if err := os.WriteFile(file, []byte(strings.Join(left, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range left {
		if !slices.Contains(strings.Split(string(listed), "\n"), line) {
			t.Errorf("runs of a rule are not compared; go test ./internal/conformance -run JournalsAreEqual -update "+
				"lists it: %s", line)
		}
	}
}
