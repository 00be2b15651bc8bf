package project

import (
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Run is the run object of docs/api.md. Its JSON is the contract: every field is present, null if
// there is no value, except the fields of formats.
type Run struct {
	ID       string       `json:"id"`
	Workflow WorkflowRef  `json:"workflow"`
	Status   event.Status `json:"status"`
	Input    event.Value  `json:"input"`
	// Output is the output of the terminal step that finished last; null for runs that did not
	// complete.
	Output event.Value `json:"output"`
	// Outputs holds the last output of every node that has one.
	Outputs map[string]event.Value `json:"outputs"`
	Error   *Error                 `json:"error"`
	// Waiting holds the open waits, oldest first.
	Waiting []Waiting `json:"waiting"`
	// Answers are the answers to waits, in order; absent if there are none.
	Answers []Answer `json:"answers,omitempty"`
	// Steps are in start order.
	Steps      []Step     `json:"steps"`
	Usage      TotalUsage `json:"usage"`
	StartedAt  *time.Time `json:"startedAt"`
	EndedAt    *time.Time `json:"endedAt"`
	ParentRun  *string    `json:"parentRun"`
	ForkedFrom *string    `json:"forkedFrom"`
	// Labels are the labels of the run; absent if there are none.
	Labels workflow.Labels `json:"labels,omitempty"`
	// Retry means that the run continues ForkedFrom after it failed, reached a limit or was
	// cancelled, or continues from one of its steps.
	Retry bool `json:"retry,omitempty"`
	// Interrupted means that no process drives the run. It does not follow from the events: the
	// caller sets it (D15).
	Interrupted bool `json:"interrupted"`
	// WaitingFor is the location that the run waits for because no living process serves it; also
	// set by the caller.
	WaitingFor string `json:"waitingFor,omitempty"`
	// Turn is the position of a pending run in the queue of its concurrency key; also set by the
	// caller.
	Turn *Turn `json:"turn,omitempty"`

	// State is present for canvas documents (S0-37) and Go graphs.
	State map[string]event.Value `json:"state,omitzero"`
	*CanvasFields
	*RoundsFields
}

// Turn is a position in the queue of a concurrency key.
type Turn struct {
	// Before is the number of runs ahead of it in the queue.
	Before int `json:"before"`
	// Run is the run directly ahead of it in the queue or, if Before is 0, the oldest of the active
	// runs.
	Run string `json:"run"`
}

// CanvasFields are additional fields of runs of canvas documents (S0-37).
type CanvasFields struct {
	WaitingForInput bool    `json:"waitingForInput"`
	CurrentNodeID   *string `json:"currentNodeId"`
}

// RoundsFields are additional fields of runs of rounds documents (S1-28).
type RoundsFields struct {
	TargetType     string `json:"targetType"`
	TargetID       string `json:"targetId"`
	TargetBranchID string `json:"targetBranchId,omitempty"`
}

// Keys of RunCreated.Meta that this package reads.
const (
	MetaVersion = "version" // version of the definition in the catalog, an integer
	MetaBranch  = "branch"  // branch of a rounds document
	// MetaTargetType, MetaTargetID and MetaTargetBranchID are shown unchanged (S1-24).
	MetaTargetType     = "targetType"
	MetaTargetID       = "targetId"
	MetaTargetBranchID = "targetBranchId"
)

// WorkflowRef identifies the workflow of a run.
type WorkflowRef struct {
	ID      *string `json:"id"`
	Name    *string `json:"name"`
	Format  *string `json:"format"`
	Version *int    `json:"version"`
	Branch  *string `json:"branch"`
}

// Error describes why a run or a step did not succeed.
type Error struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Node    *string `json:"node"`
	// Limit, Max and Problems are the fields of event.Failure, for programs.
	Limit    string      `json:"-"`
	Max      int64       `json:"-"`
	Problems event.Value `json:"-"`
}

// Waiting is an open wait.
type Waiting struct {
	ID      string    `json:"id"`
	Node    string    `json:"node"`
	Kind    string    `json:"kind"`
	Prompt  string    `json:"prompt"`
	Options []string  `json:"options"`
	Since   time.Time `json:"since"`
	// Deadline is when the wait closes without an answer; absent if there is none (P33).
	Deadline time.Time `json:"deadline,omitzero"`
	// Input is the input of the waiting node: the text to approve, or the text that the question
	// follows. Absent for tool calls and budgets.
	Input event.Value `json:"input,omitempty"`
	// Tool and Arguments describe a tool call that waits for a person, as it would be made (SEC12);
	// absent for wait nodes and for calls whose outcome is unknown.
	Tool      string      `json:"tool,omitempty"`
	Arguments event.Value `json:"arguments,omitempty"`
	// Changed means that the tool's definition differs from the one at the start of the run;
	// approving accepts the new one (SEC14).
	Changed bool `json:"changed,omitempty"`
	// Schema is the schema that the answer to a tool's question must match.
	Schema event.Value `json:"schema,omitempty"`
	// Signal is the name of the signal that a wait of kind signal accepts, and Filter selects which
	// of these signals match; absent for waits for people.
	Signal string `json:"signal,omitempty"`
	Filter string `json:"filter,omitempty"`
	// Roles are the roles that may answer; if absent, anyone who may answer waits of the kind.
	Roles []string `json:"roles,omitempty"`
	// Below is the wait of a child run, started by a tool call, that this wait mirrors; nil for all
	// other waits.
	Below *event.Below `json:"-"`
}

// StepStatus is the public state of a step.
type StepStatus string

// The public states of a step.
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
	// Kind is the document's term for the node's kind, see [workflow.Kind.In].
	Kind      string `json:"kind"`
	Attempt   int    `json:"attempt"`
	Iteration int    `json:"iteration"`
	// Item is the position, from 0, of the item that the step belongs to, and Map the seq of the
	// map; both are absent outside maps. For nested maps it is the item of the inner map, whose own
	// step has the item of the outer map.
	Map  *int `json:"map,omitempty"`
	Item *int `json:"item,omitempty"`
	// Items is the progress of a map; absent for other steps.
	Items  *Items      `json:"items,omitempty"`
	Status StepStatus  `json:"status"`
	Input  event.Value `json:"input"`
	Output event.Value `json:"output"`
	Error  *Error      `json:"error"`
	// Warnings describe anomalies in the step's model replies, such as an empty reply, one that was
	// cut off or a refusal; at most 20.
	Warnings []string `json:"warnings,omitempty"`
	// StopReason is why the last reply of the step's agent ended: stop, length (it was cut off at
	// its limit), tool_calls or refusal; absent if there is none.
	StopReason string `json:"stopReason,omitempty"`
	// Decision and Note are a person's decision at an approval and the note with it; absent
	// elsewhere.
	Decision string `json:"decision,omitempty"`
	Note     string `json:"note,omitempty"`
	// Usage is the total usage of the step's model calls, including its sub-agents, failed attempts
	// and child runs.
	Usage     Usage     `json:"usage"`
	Model     *string   `json:"model"`
	StartedAt time.Time `json:"startedAt"`
	// DurationMS is null until the step ends.
	DurationMS *int64 `json:"durationMs"`
}

// Items counts the items of a map in its current attempt. If a reader holds the list as a token,
// Total counts the items that have begun, which is all of them once the map has completed. Items in
// none of the other counts have not begun or were cut short.
type Items struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	Running int `json:"running"`
}

// Usage counts tokens and money. CostUSD is null if any part of it is unknown (D14).
type Usage struct {
	InputTokens  int64    `json:"inputTokens"`
	OutputTokens int64    `json:"outputTokens"`
	CostUSD      *float64 `json:"costUSD"`
	// KnownCost sums the known parts, and UnknownCosts counts the calls whose cost is unknown; they
	// are meant for people, who read `at least`.
	KnownCost    chat.Money `json:"-"`
	UnknownCosts int        `json:"-"`
}

// TotalUsage is the usage of a run including its child runs. Calls are counted per attempt.
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

// Run returns the run object as of the last event. The caller owns it; the values in it are shared.
func (f *Folder) Run() Run {
	r := Run{
		ID: f.id, Workflow: f.workflow(), Status: f.status, Input: f.created.Input,
		Outputs: make(map[string]event.Value, len(f.outputs)), Error: f.runError(), Waiting: f.openWaits(),
		Answers: slices.Clone(f.answers), Steps: []Step{},
		Usage: TotalUsage{Usage: f.total.usage(f.unanswered(nil)), ModelCalls: f.total.models,
			ToolCalls: f.total.tools},
		StartedAt: someTime(f.startedAt), EndedAt: someTime(f.endedAt), ParentRun: some(f.created.ParentRun),
		ForkedFrom: some(f.created.ForkedFrom), Labels: f.created.Labels, Retry: f.created.Retry,
	}
	if f.status == event.StatusCompleted {
		if r.Output = f.declaredOutput; r.Output == nil {
			if st := f.find(f.output); st != nil {
				r.Output = st.output
			}
		}
	}
	for node, st := range f.outputs {
		if st.output != nil || st.def.Kind != workflow.KindFunc { // functions may change the state without an output
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
		Seq: st.n, Node: st.node, Name: st.def.Title(), Kind: f.kindOf(st), Attempt: st.attempt,
		Iteration: st.data.Iteration,
		Decision:  st.decision.Decision, Note: st.decision.Note,
		Status: f.stepStatus(st), Input: f.input(st), Error: f.stepError(st), Warnings: slices.Clone(st.warnings),
		StopReason: st.stop,
		Usage:      st.tally.usage(f.unanswered(st)), Model: some(st.model), StartedAt: st.startedAt,
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

// stepStatus reports a step that had not ended when the run did as cancelled (P36).
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
		return &Error{Code: event.CodeCancelled, Message: reason, Node: some(st.node)}
	}
	return nil
}

// cancelText is shown for a cancellation without a reason (S1-24).
const cancelText = "Run cancelled by user"

func (f *Folder) runError() *Error {
	switch {
	case f.failure != nil:
		return showError(f.failure, "")
	case f.status == event.StatusCancelled && f.reason != "":
		return &Error{Code: event.CodeCancelled, Message: f.reason}
	case f.status == event.StatusCancelled:
		return &Error{Code: event.CodeCancelled, Message: cancelText}
	}
	return nil
}

func showError(e *event.Failure, node string) *Error {
	if e.Node != "" {
		node = e.Node
	}
	return &Error{Code: e.Code, Message: e.Message, Node: some(node), Limit: e.Limit, Max: e.Max,
		Problems: e.Problems}
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
		out = append(out, Waiting{ID: w.Wait, Node: w.node, Kind: w.Kind, Prompt: w.Prompt,
			Options: append([]string{}, options...), Since: w.since, Deadline: w.Deadline,
			Input: f.waitInput(w), Tool: w.Tool, Arguments: w.Arguments, Changed: w.Changed, Schema: w.Schema,
			Signal: w.Signal, Filter: w.Filter, Roles: w.Roles, Below: w.Below})
	}
	return out
}

// waitInput returns what a person is asked about if it is not a tool call: the input of the waiting
// node, here or in a child run.
func (f *Folder) waitInput(w *wait) event.Value {
	switch {
	case w.Below != nil:
		return w.Input
	case w.Call != "" || w.Limit != nil || w.step == nil:
		return nil
	}
	return f.input(w.step)
}

// unanswered counts the model calls of st, or of all steps if st is nil, left without an answer by
// a run that ended, and the child runs whose end it did not see: their cost is unknown.
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
	for b := range maps.Values(f.childRuns) {
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
