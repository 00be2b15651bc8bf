package project

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/workflow"
)

// engineState is the part of [enginetest.State] that projections also derive.
type engineState struct {
	Status event.Status
	Graph  struct {
		Steps struct {
			Blocks [][]engineStep
			N      int
		}
		Scopes []struct {
			Owner, Branch, Arrived, Last int
			Failed                       *event.Failure
			Entries                      []struct{ Step int }
		}
		Round int
	}
	Loop struct {
		Calls map[string]struct{ Kind, State, Step int }
	}
	Waits struct {
		List []struct {
			WaitOpened struct{ Wait string }
			Step       int
			Ended      uint64
		}
	}
	Ledger struct {
		Used     struct{ Tokens, Cost, Calls int64 }
		Children map[string]struct {
			Step  int
			Ended bool
		}
	}
}

type engineStep struct {
	From   int
	Status int
	Output string
	Work   struct {
		Input         string
		Iter, Retries int
		By            string
		Block         *struct {
			Scopes []int
			Items  *struct {
				Values []json.RawMessage
				Ended  int
				Failed map[string]*event.Failure
			}
		}
		Loop struct {
			Agent *struct {
				Root   int
				Frames []struct{ Agent string }
			}
		}
	}
}

// speaker returns the agent that has the conversation of the step if it is not the step's own
// agent; "" if the step has ended without output.
func (s *engineStep) speaker() string {
	if a := s.Work.Loop.Agent; a != nil && s.Status == 0 {
		return a.Frames[a.Root].Agent
	}
	return s.Work.By
}

// Numeric states and call kinds in the engine's state.
const (
	callIsModel   = 1
	callCancelled = 4
)

// stepStatuses lists the step statuses in the engine's numbering.
var stepStatuses = []StepStatus{StepRunning, StepCompleted, StepFailed, StepCancelled, StepSkipped}

// TestFolder_MatchesEngine checks that after each event of a random run, with waits, failures,
// retries, tools, held calls, sub-agents, hand-offs, sub-flows, child runs, limits, cancellations,
// crashes and reopenings, the folder derives the same as the engine does from the same events. The
// documentation of package project lists which derivations exist twice, and why.
func TestFolder_MatchesEngine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := drawRun(t, rt)
		if len(w.Events) > 150 { // the complete state is compared after each event
			return
		}
		sameAsEngine(rt, w)
		sameErrors(rt, w)
	})
}

// sameErrors compares the failed attempts of functions as recorded by a Go graph's folder and by
// the engine. The folder also has failed attempts of other nodes, and the engine those of
// sub-flows.
func sameErrors(t failing, w *enginetest.World) {
	def := w.Plan.Workflow()
	if !def.Rules.KeepErrors {
		return
	}
	isFunc := func(id string) bool { n := def.Node(id); return n != nil && n.Kind == workflow.KindFunc }
	f, run := NewGraphFolder("run1", w.Plan), engine.New(w.Plan, "run1")
	for i, e := range w.Events {
		if _, err := f.Add(e); err != nil {
			t.Fatalf("event %d: %v", e.Seq, err)
		}
		if err := run.Apply(w.Events[i : i+1]); err != nil {
			t.Fatalf("event %d: %v", e.Seq, err)
		}
		var got, want []GraphError
		for _, x := range f.State().Errors {
			if isFunc(x.Node) && x.Message != "cancelled" {
				got = append(got, x)
			}
		}
		for _, x := range run.Errors() {
			if isFunc(x.Node) {
				want = append(want, x)
			}
		}
		if diff := gocmp.Diff(got, want); diff != "" {
			t.Fatalf("failed attempts after event %d (-folder +engine):\n%s\n%s", e.Seq, diff, w.Log())
		}
	}
}

// sameAsEngine compares a folder with the engine after each event of a run.
func sameAsEngine(t failing, w *enginetest.World) {
	f, run := NewFolder("run1", w.Plan.Workflow()), engine.New(w.Plan, "run1")
	for i, e := range w.Events {
		early := f.Expand(e)
		f.Add(e)
		if late := f.Expand(e); !reflect.DeepEqual(early, late) {
			t.Fatalf("event %d expanded before and after Add: %s", e.Seq, gocmp.Diff(early, late))
		}
		if err := run.Apply(w.Events[i : i+1]); err != nil {
			t.Fatalf("event %d: %v\n%s", e.Seq, err, w.Log())
		}
		isLast := i+1 == len(w.Events) || w.Events[i+1].At.After(e.At) // in its activation
		if isLast && f.status == event.StatusPaused && (continues(f) || run.IsBusy()) {
			t.Fatalf("a step goes on in the paused run after event %d\n%s", e.Seq, w.Log())
		}
		got, want := folderFacts(f), engineFacts(t, run, f)
		if !maps.Equal(got, want) {
			t.Fatalf("after event %d (-folder +engine):\n%s\n%s", e.Seq, gocmp.Diff(got, want), w.Log())
		}
	}
}

// continues reports whether a step is running, other than steps that wait and steps that contain
// other steps. A paused run has none, so a caller that sees a paused run need not look at its
// steps.
func continues(f *Folder) bool {
	for _, st := range f.steps {
		if f.stepStatus(st) == StepRunning && st.def.Kind != workflow.KindFork && st.def.Kind != workflow.KindMap &&
			st.def.Kind != workflow.KindSubflow {
			return true
		}
	}
	return false
}

type failing interface{ Fatalf(string, ...any) }

// folderFacts returns the facts that a folder knows, by name.
func folderFacts(f *Folder) map[string]string {
	facts := map[string]string{
		"status": string(f.status), "steps": fmt.Sprint(len(f.steps)),
		"used": fmt.Sprint(f.total.input+f.total.output, int64(f.total.cost), f.total.models+f.total.tools),
	}
	for n, st := range f.steps {
		name := fmt.Sprintf("step %d ", n)
		facts[name+"status"], facts[name+"input"], facts[name+"output"] = string(st.status), string(f.input(st)),
			string(st.output)
		facts[name+"node"] = st.node
		if s := f.step(st); s.Item != nil {
			facts[name+"item"] = fmt.Sprint(*s.Map, *s.Item)
		}
		if st.status == StepRunning && st.items != nil && !f.status.Ended() {
			facts[name+"items"] = fmt.Sprint(*f.counts(st))
		}
		if st.data.Kind == workflow.KindAgent && (st.status == StepRunning || st.status == StepCompleted) {
			facts[name+"speaker"] = st.speaker()
		}
		if st.status == StepRunning {
			facts[name+"iteration"], facts[name+"attempt"], facts[name+"waits"] = fmt.Sprint(st.data.Iteration),
				fmt.Sprint(st.attempt), fmt.Sprint(st.waiting)
		}
	}
	for n, sc := range f.scopes {
		facts[fmt.Sprintf("scope %d", n)] = showScope(number(sc.owner), number(sc.arrived), number(sc.last), sc.failed,
			entryNumbers(sc.entries))
	}
	for key, c := range f.calls {
		if c.model {
			facts["model call "+key] = fmt.Sprint(c.step.n)
		}
	}
	for run, b := range f.childRuns {
		facts["child "+run] = fmt.Sprint(b.step.n)
	}
	for i, w := range f.openWaits() {
		facts[fmt.Sprintf("wait %d", i)] = fmt.Sprint(w.ID, w.Node, w.Kind, w.Prompt, w.Options, w.Since, w.Deadline,
			w.Tool, string(w.Arguments))
	}
	if st := f.find(f.output); st != nil && len(st.output) > 0 {
		facts["result"] = string(st.output)
	}
	for name, v := range f.state.Map() {
		facts["field "+name] = string(v)
	}
	return facts
}

func number(st *step) int {
	if st == nil {
		return 0
	}
	return st.n
}

func entryNumbers(steps []*step) (out []int) {
	for _, st := range steps {
		out = append(out, st.n)
	}
	return out
}

func showScope(owner, arrived, last int, failed bool, entries []int) string {
	return fmt.Sprintf("of %d arrived %d last %d failed %t entries %v", owner, arrived, last, failed, entries)
}

// engineItem returns the map and the position of the item that a scope is in, or "" if it is in
// none.
func engineItem(s *engineState, f *Folder, id int) string {
	for ; id > 0; id = f.steps[s.Graph.Scopes[id].Owner].data.Scope {
		if sc := s.Graph.Scopes[id]; f.steps[sc.Owner].def.Map != nil {
			return fmt.Sprint(sc.Owner, sc.Branch-1)
		}
	}
	return ""
}

// handedOn returns the input that was handed on to a step: an item of a map, the output of a step,
// or the run's input.
func handedOn(s *engineState, run *engine.Run, steps []engineStep, from int) string {
	switch {
	case from < 0:
		sc := s.Graph.Scopes[-from]
		items, _ := jsontext.Items([]byte(steps[sc.Owner-1].Work.Input))
		return string(items[sc.Branch-1])
	case from > 0:
		return steps[from-1].Output
	}
	return string(run.Created().Input)
}

// engineFacts returns the same facts from the engine. f determines which sub-flow scopes are
// compared: the engine has them from the start of their steps.
func engineFacts(t failing, run *engine.Run, f *Folder) map[string]string {
	var s engineState
	if err := json.Unmarshal(enginetest.State(run), &s); err != nil {
		t.Fatalf("%v", err)
	}
	facts := map[string]string{
		"status": string(s.Status), "steps": fmt.Sprint(s.Graph.Steps.N),
		"used": fmt.Sprint(s.Ledger.Used.Tokens, s.Ledger.Used.Cost, s.Ledger.Used.Calls),
	}
	unknown := f.total.unknown > 0
	waiting := map[int]int{}
	for _, w := range s.Waits.List {
		if w.Ended == 0 {
			waiting[w.Step]++
		}
	}
	steps := slices.Concat(s.Graph.Steps.Blocks...)[:s.Graph.Steps.N]
	for i, st := range steps {
		name := fmt.Sprintf("step %d ", i+1)
		mine := f.steps[i+1]
		if mine == nil {
			t.Fatalf("step %d is missing", i+1)
		}
		facts[name+"status"], facts[name+"input"], facts[name+"output"] = string(stepStatuses[st.Status]),
			st.Work.Input, st.Output
		switch recipe := mine.data.Recipe; {
		case recipe != nil:
			if err := recipe.Check(prompt.OfJSON(f.input(mine))); err != nil {
				t.Fatalf("input of step %d: %v", i+1, err)
			}
			facts[name+"input"] = string(f.input(mine))
		case st.Work.Input == "":
			facts[name+"input"] = handedOn(&s, run, steps, st.From)
		}
		v, _ := run.StepView(i + 1)
		facts[name+"node"] = mine.node
		if item := engineItem(&s, f, mine.data.Scope); item != "" {
			facts[name+"item"] = item
		}
		if b := st.Work.Block; st.Status == 0 && !f.status.Ended() && mine.items != nil && b != nil && b.Items != nil {
			facts[name+"items"] = fmt.Sprint(Items{len(b.Items.Values), b.Items.Ended - len(b.Items.Failed),
				len(b.Items.Failed), len(b.Scopes)})
		}
		if mine.node != v.Node && !strings.HasSuffix(mine.node, "/"+v.Node) {
			facts[name+"node"] = v.Node
		}
		if v.Kind == workflow.KindAgent && st.Status < 2 {
			facts[name+"speaker"] = cmp.Or(st.speaker(), mine.data.Agent)
		}
		if st.Status == 0 {
			facts[name+"iteration"], facts[name+"attempt"], facts[name+"waits"] = fmt.Sprint(st.Work.Iter),
				fmt.Sprint(st.Work.Retries+1), fmt.Sprint(waiting[i+1])
		}
	}
	for n, sc := range s.Graph.Scopes {
		var entries []int
		for _, e := range sc.Entries {
			entries = append(entries, e.Step)
		}
		shown := showScope(sc.Owner, sc.Arrived, sc.Last, sc.Failed != nil, entries)
		if f.scopes[n] != nil || shown != showScope(sc.Owner, 0, 0, false, nil) {
			facts[fmt.Sprintf("scope %d", n)] = shown
		}
	}
	for key, c := range s.Loop.Calls {
		if c.Kind == callIsModel && (c.State == 0 || c.State == callCancelled) {
			facts["model call "+key] = fmt.Sprint(c.Step)
		}
	}
	for run, c := range s.Ledger.Children {
		facts["child "+run] = fmt.Sprint(c.Step)
		if b := f.childRuns[run]; b != nil && b.ended != c.Ended {
			if unknown = true; b.ended { // the engine ends a run with the call that started it
				t.Fatalf("run %s has ended, in the engine it has not", run)
			}
		}
	}
	if unknown { // views show unknown usage, budgets charge the reservation
		facts["used"] = fmt.Sprint(f.total.input+f.total.output, int64(f.total.cost), f.total.models+f.total.tools)
	}
	waits := run.Waits()
	if run.Status().Ended() {
		waits = nil
	}
	for i, w := range waits {
		options := w.Options
		if w.Kind == workflow.WaitApproval && len(options) == 0 {
			options = []string{workflow.PortApprove, workflow.PortReject}
		}
		facts[fmt.Sprintf("wait %d", i)] = fmt.Sprint(w.ID, w.Node, w.Kind, w.Prompt, append([]string{}, options...),
			w.Since, w.Deadline, w.Tool, string(w.Arguments))
	}
	if out := run.Output(); len(out) > 0 && run.Status() == event.StatusCompleted {
		facts["result"] = string(out)
	}
	for name, v := range run.State() {
		facts["field "+name] = string(v)
	}
	return facts
}
