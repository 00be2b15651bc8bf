package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

func problemf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// Route is one way out of a decision: the first whose condition holds is taken. When must be pure.
type Route[S any] struct {
	When   func(View[S]) bool
	Target string
	Label  string
}

// DecisionNode makes a node that goes to the target of the first route that holds, else to fallback. What is added behind it with Then is reached
// only as a target. One NodeOptions at most may be given.
func DecisionNode[S any](id string, routes []Route[S], fallback string, opts ...NodeOptions) Node[S] {
	d := &def[S]{id: id, typ: TypeDecision, shape: shapeRoutes, routes: append([]Route[S](nil), routes...), fallback: fallback}
	if d.take(opts) {
		return d
	}
	for i, r := range routes {
		if r.When == nil {
			d.problem = problemf("Decision node %q: route %d has no condition", id, i+1)
		}
	}
	return d
}

// WaitConfig is a node that asks a person and pauses the run until the answer comes (S2-52). The answer is in the outputs under ID. The signal
// `human_input_required` carries the prompt.
type WaitConfig[S any] struct {
	ID string
	// Prompt is the question; `{{PREVIOUS_OUTPUT}}` in it stands for the output of the node before.
	Prompt string
	// PromptFunc wins over Prompt where not nil. It must be pure.
	PromptFunc func(View[S]) string
	// AutoApprove continues immediately with an empty answer.
	AutoApprove bool
	// Input writes the answer into the state; nil leaves the state alone. It must be pure.
	Input func(s *S, answer string) error
	// Deadline is how long the question is open: then the node fails with the code `deadline`, which Options.OnError may lead elsewhere. RemindAfter is how long it is
	// open before an event `wait.reminded`. Both survive the process; a process that stays fires them, else the next process that drives the run. 0: none.
	Deadline, RemindAfter time.Duration
	Options               NodeOptions

	tooMany int // options of Ask
}

// waiting is a question of any kind of node.
type waiting[S any] struct {
	prompt  string
	labels  []string
	ask     func(View[S]) asked
	input   func(s *S, answer string) error
	approve bool

	deadline, remind time.Duration
}

func (c WaitConfig[S]) define() *def[S] {
	w := &waiting[S]{prompt: c.Prompt, input: c.Input, approve: c.AutoApprove, deadline: c.Deadline, remind: c.RemindAfter}
	if c.PromptFunc != nil {
		w.ask = func(v View[S]) asked { return asked{Prompt: c.PromptFunc(v)} }
	}
	d := &def[S]{id: c.ID, typ: TypeWait, shape: shapeWait, opts: c.Options, wait: w}
	d.surplus(c.tooMany)
	return d
}

// Question is what an ask-user node asks. Without Choices any text is an answer; with them, other text is accepted too (S2-74).
type Question struct {
	Text string
	// Header is a short title; "": none.
	Header  string
	Choices []Choice
}

// Choice is an answer that is offered.
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// asked is a question in the form in which the engine takes it: Data goes along with the signal (S2-53).
type asked struct {
	Prompt  string     `json:"prompt"`
	Options []string   `json:"options"`
	Data    *askedData `json:"data,omitempty"`
}

type askedData struct {
	Question string   `json:"question"`
	Header   string   `json:"header"`
	Options  []Choice `json:"options"`
}

func (q Question) asked() asked {
	out := asked{Prompt: q.Text, Data: &askedData{q.Text, q.Header, append([]Choice{}, q.Choices...)}}
	for _, c := range q.Choices {
		out.Options = append(out.Options, c.Label)
	}
	if q.Header != "" {
		out.Prompt = q.Header + "\n\n" + q.Text
	}
	return out
}

// AskUserConfig is a node that asks a person a question with choices; the answer is in the outputs under ID (S2-74). The signal
// `human_input_required` and an event of the same type tell of it, with requestId, question, header, options and nodeId in their data. While the
// question is open, [BaseState] says so (S2-53).
type AskUserConfig[S any] struct {
	ID       string
	Question Question
	// QuestionFunc wins over Question where not nil. It must be pure.
	QuestionFunc func(View[S]) Question
	// Deadline and RemindAfter are those of WaitConfig.
	Deadline, RemindAfter time.Duration
	Options               NodeOptions
}

func (c AskUserConfig[S]) define() *def[S] {
	fixed := c.Question.asked()
	w := &waiting[S]{prompt: fixed.Prompt, labels: fixed.Options, ask: func(View[S]) asked { return fixed }, deadline: c.Deadline, remind: c.RemindAfter}
	if c.QuestionFunc != nil {
		w.ask = func(v View[S]) asked { return c.QuestionFunc(v).asked() }
	}
	return &def[S]{id: c.ID, typ: TypeAskUser, shape: shapeWait, opts: c.Options, wait: w}
}

// Strategy says what a parallel block waits for (S2-51).
type Strategy string

const (
	// StrategyAll waits for every branch and fails when one fails.
	StrategyAll Strategy = "all"
	// StrategyRace goes on with the first branch that settles, even if it failed, and cancels the rest.
	StrategyRace Strategy = "race"
	// StrategyAny goes on with the first branch that succeeds and cancels the rest; it fails when all fail.
	StrategyAny Strategy = "any"
	// StrategyQuorum goes on with the first [ParallelConfig].Quorum branches that succeed and cancels the rest; it fails as soon as too few can. The document
	// does not have it.
	StrategyQuorum Strategy = "quorum"
)

// BranchResult is the output of one branch of a parallel block; Output is nil where the branch gave none.
type BranchResult struct {
	Branch string
	Output json.RawMessage
}

// ParallelConfig is a block of branches that run together. What follows it runs once, after the block (S2-9).
type ParallelConfig[S any] struct {
	// ID may be empty with [Builder.Parallel], which makes one.
	ID string
	// Branches are the ids of their first nodes, added with [Builder.Node], or the names of those added with [Builder.Branch]; at least one. With Bodies they are
	// their names, in order; nil: the ids of their first nodes.
	Branches []string
	// Bodies are the branches themselves: a node each, or a [Flow] or a [Body].
	Bodies []Node[S]
	// Strategy is [StrategyAll] where empty.
	Strategy Strategy
	// Quorum is how many branches must succeed, between 1 and their number; for [StrategyQuorum] alone.
	Quorum int
	// Merge writes the results into the state, in declared order: those of all branches, or of the winners for the other strategies. The state has what these
	// branches changed. Nil: the results are in the outputs alone (S2-57). It must be pure.
	Merge   func(s *S, results []BranchResult) error
	Options NodeOptions
}

func (c ParallelConfig[S]) define() *def[S] {
	c.Branches = append([]string(nil), c.Branches...)
	d := &def[S]{id: c.ID, typ: TypeParallel, shape: shapeParallel, opts: c.Options, parallel: &c}
	switch c.Strategy {
	case "", StrategyAll, StrategyRace, StrategyAny:
		if c.Quorum != 0 {
			d.problem = problemf("Parallel node %q has a quorum, but the strategy %q", c.ID, c.strategy())
		}
	case StrategyQuorum:
		if c.Quorum < 1 || c.Quorum > len(c.Branches) {
			d.problem = problemf("Parallel node %q waits for %d of %d branches", c.ID, c.Quorum, len(c.Branches))
		}
	default:
		d.problem = problemf("Parallel node %q has the unknown strategy %q", c.ID, c.Strategy)
	}
	if len(c.Branches) == 0 {
		d.problem = problemf("Parallel node %q requires at least one branch", c.ID)
	}
	return d
}

// ToolConfig is a node that calls one function with arguments made of the state. A is what the function takes, R what it gives.
type ToolConfig[S, A, R any] struct {
	ID string
	// ToolName is used in messages; "" means ID.
	ToolName string
	// Execute is required. It should heed ctx, which is done at the timeout; a tool that does not heed it fails nevertheless (S2-46).
	Execute func(ctx context.Context, args A) (R, error)
	// Args are the arguments, one value for all calls, which Execute must not change; ArgsFunc makes them of the state and wins.
	Args     A
	ArgsFunc func(View[S]) A
	// Output writes the result into the state. The result is in the outputs under ID where it is nil, or Keep is set.
	Output func(s *S, result R) error
	Keep   bool
	// Timeout of one attempt; 0: none.
	Timeout time.Duration
	Options NodeOptions

	tooMany int // options of Tool
}

func (c ToolConfig[S, A, R]) define() *def[S] {
	d := &def[S]{id: c.ID, typ: TypeTool, opts: c.Options, run: c.call}
	if c.ToolName == "" {
		c.ToolName = c.ID
		d.run = c.call
	}
	if d.opts.Name == "" && c.ToolName != c.ID {
		d.opts.Name = c.ToolName
	}
	switch {
	case c.Execute == nil:
		d.problem = problemf("Tool node %q requires an Execute function", c.ID)
	case c.Timeout < 0:
		d.problem = problemf("Tool node %q has a negative timeout", c.ID)
	}
	d.surplus(c.tooMany)
	return d
}

func (c ToolConfig[S, A, R]) call(ctx context.Context, n *Context[S]) (Result[S], error) {
	args := c.Args
	if c.ArgsFunc != nil {
		args = c.ArgsFunc(n.View())
	}
	result, err := callTool(ctx, c.ToolName, c.Timeout, func(ctx context.Context) (R, error) { return c.Execute(ctx, args) })
	if err != nil {
		return Result[S]{}, err
	}
	if c.Output == nil {
		return Result[S]{Output: result}, nil
	}
	r := Result[S]{Update: &n.State}
	if c.Keep {
		r.Output = result
	}
	return r, c.Output(&n.State, result)
}
