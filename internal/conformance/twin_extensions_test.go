package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// extensionDocuments is the number of random documents that TestExtensions_MatchesReference runs.
const extensionDocuments = 300

// xAct is an external action at some time in a run: a signal, or an answer from a person.
type xAct struct {
	at     time.Duration
	signal *xSignal
}

func drawActs(seed uint64) []xAct {
	r := rand.New(rand.NewPCG(seed, 18))
	var out []xAct
	at := 0
	for range r.IntN(25) {
		at += 1 + r.IntN(12_000_000)
		a := xAct{at: time.Duration(at) * time.Microsecond}
		if r.IntN(2) == 0 {
			a.signal = &xSignal{name: []string{"one", "two", "none"}[r.IntN(9)/4], v: r.IntN(8)}
		}
		out = append(out, a)
	}
	return out
}

// xWorld is a run as observed from outside.
type xWorld struct {
	Acts   []string // results of signals and answers
	Calls  []string // tool calls, with their times
	Output any
	Code   string
	Node   string
	Open   []string // steps still waiting at the end
}

// wholeTime is the time that a run may take.
const wholeTime = 2 * time.Hour

// plainWorld runs a document with the literal interpreter.
func plainWorld(doc *xDocument, script []xAct) (w xWorld) {
	began := time.Now()
	r := &xRun{input: 4, acts: &xActs{began: began, times: map[string]int{}}, names: map[string]bool{}}
	signalsOf(doc.steps, r.names)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan xFlow, 1)
	go func() { done <- r.document(ctx, doc, map[string]any{"n": 4}) }()
	var end *xFlow
	over := func() bool {
		synctest.Wait()
		select {
		case f := <-done:
			end = &f
		default:
		}
		return end != nil
	}
	for n, a := range script {
		time.Sleep(a.at - time.Since(began))
		switch {
		case over():
			w.Acts = append(w.Acts, "over")
		case a.signal != nil:
			w.Acts = append(w.Acts, r.sendSignal(*a.signal))
		default:
			w.Acts = append(w.Acts, r.answers(n))
		}
	}
	time.Sleep(wholeTime - time.Since(began))
	if over() {
		w.Output = end.out
		if end.fail != nil {
			w.Output, w.Code, w.Node = nil, end.fail.code, end.fail.node
		}
	} else {
		for _, o := range r.open {
			w.Open = append(w.Open, o.x.id)
		}
	}
	w.Calls = r.acts.calls
	stop()
	synctest.Wait()
	return w
}

func signalsOf(list []*xStep, into map[string]bool) {
	for _, x := range list {
		if x.kind == "signal" {
			into[x.signal] = true
		}
		for _, inner := range [][]*xStep{x.yes, x.no, x.steps, x.limitSteps} {
			signalsOf(inner, into)
		}
	}
}

// realWorld runs the document on the engine.
func realWorld(t *testing.T, doc *xDocument, below []*xDocument, script []xAct) (w xWorld, r *run) {
	t.Helper()
	acts := &xActs{times: map[string]int{}}
	act := &tooltest.Tool{Name: "act", Retry: true, Fn: func(ctx context.Context, c tool.Call) (tool.Result, error) {
		var args map[string]any
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			return tool.Result{}, err
		}
		text, _ := json.Marshal(hush(args))
		takes, fails := acts.next(args["id"].(string), string(text)) //nolint:forcetypeassert // as text writes it
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
		if fails {
			return tool.Result{}, errors.New("no route")
		}
		return tool.Result{Text: "done", Structured: c.Arguments}, nil
	}}
	o := newWorld(t, func(c *service.Config) { c.Tools = []tool.Tool{act} })
	o.replies = func(q model.Request, _ int) line {
		return say("said " + q.LastText()[strings.LastIndexByte(q.LastText(), '\n')+1:])
	}
	for _, b := range below {
		o.storeDocument(b.id, b.text())
	}
	acts.began = time.Now()
	r = o.begin(doc.text(), "", func(q *service.StartRequest) { q.Inputs = json.RawMessage(`{"n": 4}`) })
	for n, a := range script {
		time.Sleep(a.at - time.Since(acts.began))
		synctest.Wait()
		if o := r.show(); o.Status.Ended() {
			w.Acts = append(w.Acts, "over")
		} else if a.signal != nil {
			got, err := r.signal(a.signal.name, a.signal.value(), "")
			if err != nil {
				got.Node = "refused"
			}
			w.Acts = append(w.Acts, got.Node)
		} else {
			w.Acts = append(w.Acts, r.answerOldest(doc, n))
		}
	}
	time.Sleep(wholeTime - time.Since(acts.began))
	end := r.show()
	for _, open := range end.Waiting {
		w.Open = append(w.Open, last(open.Node))
	}
	if end.Status == event.StatusCompleted {
		w.Output = end.Output
	}
	if end.Error != nil {
		w.Code = end.Error.Code
		if end.Error.Node != nil {
			w.Node = last(*end.Error.Node)
		}
	}
	w.Calls = acts.calls
	return w, r
}

func last(node string) string { return node[strings.LastIndexByte(node, '/')+1:] }

// answerOldest answers the step that has waited longest for a person.
func (r *run) answerOldest(doc *xDocument, n int) string {
	r.w.t.Helper()
	for _, open := range r.show().Waiting {
		if open.Signal != "" {
			continue
		}
		x := findExtended(doc.steps, last(open.Node))
		value := says(x, n)
		if x.kind == "approval" {
			value = map[string]any{"decision": value}
		}
		err := r.w.Answer(r.w.t.Context(), r.id, service.AnswerRequest{Wait: open.ID,
			Value: event.Value(asJSON(value)), By: event.LocalBy(event.ChannelProgram)})
		if err != nil {
			return "refused " + x.id
		}
		return x.id
	}
	return ""
}

func findExtended(list []*xStep, id string) *xStep {
	for _, x := range list {
		if x.id == id {
			return x
		}
		for _, inner := range [][]*xStep{x.yes, x.no, x.steps, x.limitSteps} {
			if found := findExtended(inner, id); found != nil {
				return found
			}
		}
	}
	return nil
}

// settled converts an observed run into a form that can be compared.
func (w xWorld) settled() xWorld {
	slices.Sort(w.Calls)
	slices.Sort(w.Open)
	w.Output = plainly(w.Output)
	return w
}

// TestExtensions_MatchesReference runs random documents with extensions and compares each with a
// literal interpreter of their rules: when tools are called and with
// which arguments, which step takes a signal or an answer, how the run ends and with which output.
func TestExtensions_MatchesReference(t *testing.T) {
	t.Parallel()
	var completed, failed, waiting, calls atomic.Int64
	t.Cleanup(func() {
		if completed.Load() < extensionDocuments/3 || failed.Load() < extensionDocuments/10 ||
			waiting.Load() < extensionDocuments/20 || calls.Load() < 3*extensionDocuments {
			t.Errorf("%d documents complete, %d fail, %d wait at the end, with %d calls: the draw has become one-sided",
				completed.Load(), failed.Load(), waiting.Load(), calls.Load())
		}
	})
	for seed := range randtest.Seeds(extensionDocuments) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				doc, below := drawExtensions(seed)
				script := drawActs(seed)
				want := plainWorld(doc, script).settled()
				switch {
				case want.Open != nil:
					waiting.Add(1)
				case want.Code != "":
					failed.Add(1)
				default:
					completed.Add(1)
				}
				calls.Add(int64(len(want.Calls)))
				if want.Code == event.CodeMaxSteps { // which step reaches the limit is unspecified
					want.Node, want.Calls, want.Acts = "", nil, nil
				}
				got, r := realWorld(t, doc, below, script)
				if got.Code == event.CodeMaxSteps {
					got.Node, got.Calls, got.Acts = "", nil, nil
				}
				if diff := cmp.Diff(want, got.settled()); diff != "" {
					t.Errorf("(-twin +run):\n%s\nthe document:\n%s\nthe failure: %s", diff, doc.text(),
						asJSON(r.show().Error))
					for _, b := range below {
						t.Logf("%s:\n%s", b.id, b.text())
					}
				}
			})
		})
	}
}
