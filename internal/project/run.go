package project

import (
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// Run is the run object of contract.md. Its JSON is the contract: every field is there, null where there is nothing, but those of formats.
type Run struct {
	ID       string        `json:"id"`
	Workflow WorkflowRef   `json:"workflow"`
	Status   engine.Status `json:"status"`
	Input    engine.Value  `json:"input"`
	// Output is that of the terminal step that finished last; null for runs that did not complete.
	Output engine.Value `json:"output"`
	// Outputs holds the last output of every node that gave one.
	Outputs map[string]engine.Value `json:"outputs"`
	Error   *Error                  `json:"error"`
	// Waiting holds the open waits, oldest first.
	Waiting []Waiting `json:"waiting"`
	// Answers are those that waits got, in their order; absent where there are none.
	Answers []Answer `json:"answers,omitempty"`
	// Steps are in the order in which they started.
	Steps      []Step     `json:"steps"`
	Usage      TotalUsage `json:"usage"`
	StartedAt  *time.Time `json:"startedAt"`
	EndedAt    *time.Time `json:"endedAt"`
	ParentRun  *string    `json:"parentRun"`
	ForkedFrom *string    `json:"forkedFrom"`
	// Retry says that the run goes on with ForkedFrom where that one failed, met a limit or was cancelled, or from one of its steps.
	Retry bool `json:"retry,omitempty"`
	// Interrupted says that no process drives the run. Events do not tell it: the caller sets it (D15).
	Interrupted bool `json:"interrupted"`
	// WaitingFor is the place that the run waits for, because no living process has it; the caller sets it too.
	WaitingFor string `json:"waitingFor,omitempty"`
	// Turn is where a pending run is in the line of its concurrency key; the caller sets it too.
	Turn *Turn `json:"turn,omitempty"`

	// State is there for canvas documents (S0-37) and Go graphs.
	State map[string]engine.Value `json:"state,omitzero"`
	*CanvasFields
	*RoundsFields
}

// Turn is a place in the line of a concurrency key.
type Turn struct {
	// Before is how many runs wait for their turn before it.
	Before int `json:"before"`
	// Run is the one directly before it, which waits too, or, where Before is 0, the oldest of those that go on.
	Run string `json:"run"`
}

// CanvasFields are further fields of runs of canvas documents (S0-37).
type CanvasFields struct {
	WaitingForInput bool    `json:"waitingForInput"`
	CurrentNodeID   *string `json:"currentNodeId"`
}

// RoundsFields are further fields of runs of rounds documents (S1-28).
type RoundsFields struct {
	TargetType     string `json:"targetType"`
	TargetID       string `json:"targetId"`
	TargetBranchID string `json:"targetBranchId,omitempty"`
}

// Keys of RunCreated.Meta that this package reads.
const (
	MetaVersion = "version" // of the definition in the catalog, a whole number
	MetaBranch  = "branch"  // of a rounds document
	// MetaTargetType, MetaTargetID and MetaTargetBranchID are shown as they are (S1-24).
	MetaTargetType     = "targetType"
	MetaTargetID       = "targetId"
	MetaTargetBranchID = "targetBranchId"
)

// WorkflowRef names what ran.
type WorkflowRef struct {
	ID      *string `json:"id"`
	Name    *string `json:"name"`
	Format  *string `json:"format"`
	Version *int    `json:"version"`
	Branch  *string `json:"branch"`
}

// Error is why a run or a step did not succeed.
type Error struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Node    *string `json:"node"`
	// Limit and Max are those of engine.Failure, for programs.
	Limit string `json:"-"`
	Max   int64  `json:"-"`
}

// Waiting is an open wait.
type Waiting struct {
	ID      string    `json:"id"`
	Node    string    `json:"node"`
	Kind    string    `json:"kind"`
	Prompt  string    `json:"prompt"`
	Options []string  `json:"options"`
	Since   time.Time `json:"since"`
	// Deadline is when the wait closes without an answer; absent where there is none (P33).
	Deadline time.Time `json:"deadline,omitzero"`
	// Input is what came to the node that waits: the text that is to be approved, or that the question follows. Absent for tool calls and budgets.
	Input engine.Value `json:"input,omitempty"`
	// Tool and Arguments are those of a tool call that waits for a person, as it would be made (SEC12); absent for wait nodes and for calls whose outcome
	// is unknown.
	Tool      string       `json:"tool,omitempty"`
	Arguments engine.Value `json:"arguments,omitempty"`
	// Changed: the tool's definition is not the one that the run began with; approving accepts the new one (SEC14).
	Changed bool `json:"changed,omitempty"`
	// Schema is what the answer to a tool's question must fit.
	Schema engine.Value `json:"schema,omitempty"`
	// Signal is the name of the signal that a wait of kind signal takes, and Filter says which of them; absent for waits for people.
	Signal string `json:"signal,omitempty"`
	Filter string `json:"filter,omitempty"`
	// Roles are those who may answer; absent: all who may answer waits of the kind.
	Roles []string `json:"roles,omitempty"`
	// Below is the wait of a run that a tool call started, which this one repeats; nil for all others.
	Below *engine.Below `json:"-"`
}

// StepStatus is the public state of a step.
type StepStatus string

const (
	StepRunning   StepStatus = "running"
	StepWaiting   StepStatus = "waiting"
	StepCompleted StepStatus = "completed"
	StepFailed    StepStatus = "failed"
	StepCancelled StepStatus = "cancelled"
	StepSkipped   StepStatus = "skipped"
)

// Step is one execution of a node. Seq is the `step` of its events.
type Step struct {
	Seq  int    `json:"seq"`
	Node string `json:"node"`
	Name string `json:"name"`
	// Kind is the document's word for the node's kind, see [workflow.Kind.In].
	Kind      string `json:"kind"`
	Attempt   int    `json:"attempt"`
	Iteration int    `json:"iteration"`
	// Item is the place, from 0, of the item that the step belongs to, and Map the seq of the map; both absent outside of maps. Of maps inside of each other it is
	// the inner one, whose own step has the item of the outer one.
	Map  *int `json:"map,omitempty"`
	Item *int `json:"item,omitempty"`
	// Items tells of a map how far it is; absent elsewhere.
	Items  *Items       `json:"items,omitempty"`
	Status StepStatus   `json:"status"`
	Input  engine.Value `json:"input"`
	Output engine.Value `json:"output"`
	Error  *Error       `json:"error"`
	// Warnings say what is odd about replies of models in the step, such as that one is empty or a refusal; at most 20.
	Warnings []string `json:"warnings,omitempty"`
	// Decision and Note are what a person decided at an approval; absent elsewhere.
	Decision string `json:"decision,omitempty"`
	Note     string `json:"note,omitempty"`
	// Usage sums the step's model calls, those of its sub-agents, of its failed attempts and of the runs that it started too.
	Usage     Usage     `json:"usage"`
	Model     *string   `json:"model"`
	StartedAt time.Time `json:"startedAt"`
	// DurationMS is null while the step goes on.
	DurationMS *int64 `json:"durationMs"`
}

// Items counts the items of a map in its present attempt. Of a list that a reader has as a token Total has those that have begun: all, once the map has completed. Those that are in none of the others have not begun, or were cut short.
type Items struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	Running int `json:"running"`
}

// Usage counts tokens and money. CostUSD is null where any part of it is not known (D14).
type Usage struct {
	InputTokens  int64    `json:"inputTokens"`
	OutputTokens int64    `json:"outputTokens"`
	CostUSD      *float64 `json:"costUSD"`
	// KnownCost sums the parts that are known, and UnknownCosts counts the calls that are not: they are for people, who read `at least`.
	KnownCost    chat.Money `json:"-"`
	UnknownCosts int        `json:"-"`
}

// TotalUsage is what a run used, with the runs that it started. Calls are counted by attempt.
type TotalUsage struct {
	Usage
	ModelCalls int `json:"modelCalls"`
	ToolCalls  int `json:"toolCalls"`
}

// approvalDecision is `<id>_approval` in the state of canvas runs (S0-18).
type approvalDecision struct {
	Decision string `json:"decision"`
	Note     string `json:"note"`
}

// Run gives the run object as of the last event. It is the caller's; the values in it are shared.
func (f *Folder) Run() Run {
	r := Run{
		ID: f.id, Workflow: f.workflow(), Status: f.status, Input: f.created.Input,
		Outputs: make(map[string]engine.Value, len(f.outputs)), Error: f.runError(), Waiting: f.openWaits(), Answers: slices.Clone(f.answers), Steps: []Step{},
		Usage:     TotalUsage{Usage: f.total.usage(f.unanswered(nil)), ModelCalls: f.total.models, ToolCalls: f.total.tools},
		StartedAt: someTime(f.startedAt), EndedAt: someTime(f.endedAt), ParentRun: some(f.created.ParentRun), ForkedFrom: some(f.created.ForkedFrom), Retry: f.created.Retry,
	}
	if f.status == engine.StatusCompleted {
		if r.Output = f.said; r.Output == nil {
			if st := f.find(f.output); st != nil {
				r.Output = st.output
			}
		}
	}
	for node, st := range f.outputs {
		if st.output != nil || st.def.Kind != workflow.KindFunc { // functions may change the state and give no output
			r.Outputs[node] = st.output
		}
	}
	for _, st := range f.kept() {
		if f.shows(st) {
			r.Steps = append(r.Steps, f.step(st))
		}
	}
	f.addFormat(&r)
	return r
}

func (f *Folder) step(st *step) Step {
	s := Step{
		Seq: st.n, Node: st.node, Name: st.def.Title(), Kind: f.kindOf(st), Attempt: st.attempt, Iteration: st.data.Iteration,
		Decision: st.decision.Decision, Note: st.decision.Note,
		Status: f.stepStatus(st), Input: f.input(st), Error: f.stepError(st), Warnings: slices.Clone(st.warnings), Usage: st.tally.usage(f.unanswered(st)), Model: some(st.model), StartedAt: st.startedAt,
	}
	if st.status == StepCompleted || st.hasDefault {
		s.Output = st.output
	}
	s.Items = f.counts(st)
	if m, item, ok := itemOf(st.scope); ok {
		s.Map, s.Item = &m.n, &item
	}
	end := st.endedAt
	if end.IsZero() {
		end = f.endedAt
	}
	if !end.IsZero() {
		ms := end.Sub(st.startedAt).Milliseconds()
		s.DurationMS = &ms
	}
	return s
}

// stepStatus shows a step that had not ended when the run did as cancelled (P36).
func (f *Folder) stepStatus(st *step) StepStatus {
	switch {
	case st.status != StepRunning:
		return st.status
	case f.status.Ended():
		return StepCancelled
	case st.waiting > 0:
		return StepWaiting
	}
	return StepRunning
}

func (f *Folder) stepError(st *step) *Error {
	switch f.stepStatus(st) {
	case StepFailed:
		return showError(st.failure, st.node)
	case StepCancelled:
		reason := st.reason
		if reason == "" {
			reason = "the run ended"
		}
		return &Error{Code: engine.CodeCancelled, Message: reason, Node: some(st.node)}
	}
	return nil
}

// cancelText is what a cancellation without reason is shown as (S1-24).
const cancelText = "Run cancelled by user"

func (f *Folder) runError() *Error {
	switch {
	case f.failure != nil:
		return showError(f.failure, "")
	case f.status == engine.StatusCancelled && f.reason != "":
		return &Error{Code: engine.CodeCancelled, Message: f.reason}
	case f.status == engine.StatusCancelled:
		return &Error{Code: engine.CodeCancelled, Message: cancelText}
	}
	return nil
}

func showError(e *engine.Failure, node string) *Error {
	if e.Node != "" {
		node = e.Node
	}
	return &Error{Code: e.Code, Message: e.Message, Node: some(node), Limit: e.Limit, Max: e.Max}
}

func (f *Folder) openWaits() []Waiting {
	out := []Waiting{}
	if f.status.Ended() {
		return out
	}
	for _, w := range f.waits {
		if w.done {
			continue
		}
		options := w.Options
		if w.Kind == workflow.WaitApproval && len(options) == 0 {
			options = []string{workflow.PortApprove, workflow.PortReject}
		}
		out = append(out, Waiting{ID: w.Wait, Node: w.node, Kind: w.Kind, Prompt: w.Prompt, Options: append([]string{}, options...), Since: w.since, Deadline: w.Deadline,
			Input: f.judged(w), Tool: w.Tool, Arguments: w.Arguments, Changed: w.Changed, Schema: w.Schema, Signal: w.Signal, Filter: w.Filter, Roles: w.Roles, Below: w.Below})
	}
	return out
}

// judged is what a person is asked about where that is no tool call: what the node was given that waits, here or in a run below.
func (f *Folder) judged(w *wait) engine.Value {
	switch {
	case w.Below != nil:
		return w.Input
	case w.Call != "" || w.Limit != nil || w.step == nil:
		return nil
	}
	return f.input(w.step)
}

// unanswered counts the model calls of st, or of all steps where st is nil, that were left without answer by a run that ended, and the runs that it started and did not see the end
// of: what they cost is not known.
func (f *Folder) unanswered(st *step) int {
	n := 0
	if !f.status.Ended() {
		return n
	}
	for c := range maps.Values(f.calls) {
		if c.model && (st == nil || c.step == st) {
			n++
		}
	}
	for b := range maps.Values(f.below) {
		if !b.ended && (st == nil || b.step == st) {
			n++
		}
	}
	return n
}

func (t tally) usage(open int) Usage {
	u := Usage{InputTokens: t.input, OutputTokens: t.output, KnownCost: t.cost, UnknownCosts: t.unknown + open}
	if u.UnknownCosts == 0 {
		u.CostUSD = new(t.cost.USD())
	}
	return u
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func someTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
