package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

func problemf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// Route is a possible successor of a decision: the first route whose condition holds is taken. When
// must be pure.
type Route[S any] struct {
	When   func(View[S]) bool
	Target string
	Label  string
}

// DecisionNode returns a node that goes to the target of the first route whose condition holds, or
// else to fallback. Nodes added after it with Then are reached only as targets. At most one
// NodeOptions may be passed.
func DecisionNode[S any](id string, routes []Route[S], fallback string, opts ...NodeOptions) Node[S] {
	d := &def[S]{id: id, typ: TypeDecision, shape: shapeRoutes, routes: append([]Route[S](nil), routes...),
		fallback: fallback}
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

// WaitConfig is a node that asks a person and pauses the run until the answer arrives. The answer
// is stored in the outputs under ID. The signal `human_input_required` carries the prompt.
type WaitConfig[S any] struct {
	ID string
	// Prompt is the question; `{{PREVIOUS_OUTPUT}}` in it is replaced with the output of the
	// previous node.
	Prompt string
	// PromptFunc takes precedence over Prompt unless nil. It must be pure.
	PromptFunc func(View[S]) string
	// AutoApprove continues immediately with an empty answer.
	AutoApprove bool
	// Input writes the answer into the state; nil leaves the state unchanged. It must be pure.
	Input func(s *S, answer string) error
	// Deadline is how long the question stays open: after that the node fails with the code
	// `deadline`, which Options.OnError may handle. RemindAfter is how long it is open before an
	// event `wait.reminded` is raised. Both survive the process; a process that keeps running fires
	// them, or else the next process that drives the run. 0 means none.
	Deadline, RemindAfter time.Duration
	Options               NodeOptions

	optionCount int // number of options passed to Ask
}

// question is a question of any node type.
type question[S any] struct {
	prompt  string
	labels  []string
	ask     func(View[S]) asked
	input   func(s *S, answer string) error
	approve bool

	deadline, remind time.Duration
}

func (c WaitConfig[S]) define() *def[S] {
	w := &question[S]{prompt: c.Prompt, input: c.Input, approve: c.AutoApprove, deadline: c.Deadline,
		remind: c.RemindAfter}
	if c.PromptFunc != nil {
		w.ask = func(v View[S]) asked { return asked{Prompt: c.PromptFunc(v)} }
	}
	d := &def[S]{id: c.ID, typ: TypeWait, shape: shapeWait, opts: c.Options, wait: w}
	d.rejectExtraOptions(c.optionCount)
	return d
}

// Question is what an ask-user node asks. Without Choices any text is an answer; with them, other
// text is accepted, too.
type Question struct {
	Text string
	// Header is a short title; "" means none.
	Header  string
	Choices []Choice
}

// Choice is one of the offered answers.
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// asked is a question in the form that the engine accepts: Data is sent with the signal.
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

// AskUserConfig is a node that asks a person a question with choices; the answer is stored in the
// outputs under ID. The signal `human_input_required` and an event of the same type announce it,
// with requestId, question, header, options and nodeId in their data. While the question is open,
// flags in [BaseState] are set.
type AskUserConfig[S any] struct {
	ID       string
	Question Question
	// QuestionFunc takes precedence over Question unless nil. It must be pure.
	QuestionFunc func(View[S]) Question
	// Deadline and RemindAfter work like those of WaitConfig.
	Deadline, RemindAfter time.Duration
	Options               NodeOptions
}

func (c AskUserConfig[S]) define() *def[S] {
	fixed := c.Question.asked()
	w := &question[S]{prompt: fixed.Prompt, labels: fixed.Options, ask: func(View[S]) asked { return fixed },
		deadline: c.Deadline, remind: c.RemindAfter}
	if c.QuestionFunc != nil {
		w.ask = func(v View[S]) asked { return c.QuestionFunc(v).asked() }
	}
	return &def[S]{id: c.ID, typ: TypeAskUser, shape: shapeWait, opts: c.Options, wait: w}
}

// Strategy specifies what a parallel block waits for.
type Strategy string

const (
	// StrategyAll waits for every branch and fails if one fails.
	StrategyAll Strategy = "all"
	// StrategyRace continues with the first branch that settles, even if it failed, and cancels the
	// others.
	StrategyRace Strategy = "race"
	// StrategyAny continues with the first branch that succeeds and cancels the others; it fails if
	// all branches fail.
	StrategyAny Strategy = "any"
	// StrategyQuorum continues with the first [ParallelConfig].Quorum branches that succeed and
	// cancels the others; it fails as soon as too few can succeed. The document does not define it.
	StrategyQuorum Strategy = "quorum"
)

// BranchResult is the output of one branch of a parallel block; Output is nil if the branch
// produced none.
type BranchResult struct {
	Branch string
	Output json.RawMessage
}

// ParallelConfig is a block of branches that run concurrently. What follows it runs once, after the
// block.
type ParallelConfig[S any] struct {
	// ID may be empty with [Builder.Parallel], which generates one.
	ID string
	// Branches holds the ids of the branches' first nodes, added with [Builder.Node], or the names
	// of branches added with [Builder.Branch]; at least one. With Bodies it holds their names, in
	// order; nil means the ids of their first nodes.
	Branches []string
	// Bodies holds the branches themselves, each a node, a [Flow] or a [Body].
	Bodies []Node[S]
	// Strategy defaults to [StrategyAll].
	Strategy Strategy
	// Quorum is how many branches must succeed, between 1 and their number; only for
	// [StrategyQuorum].
	Quorum int
	// Merge writes the results into the state, in declared order: those of all branches, or of the
	// winners for the other strategies. The state includes the changes of these branches. If nil,
	// the results are only in the outputs. It must be pure.
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

// ToolConfig is a node that calls one function with arguments derived from the state. A is the
// function's argument type, R its result type.
type ToolConfig[S, A, R any] struct {
	ID string
	// ToolName is used in messages; "" means ID.
	ToolName string
	// Execute is required. It should honor ctx, which is done at the timeout; a tool that ignores
	// it fails nevertheless.
	Execute func(ctx context.Context, args A) (R, error)
	// Args holds the arguments, one value for all calls, which Execute must not modify; ArgsFunc
	// derives them from the state and takes precedence.
	Args     A
	ArgsFunc func(View[S]) A
	// Output writes the result into the state. The result is stored in the outputs under ID if
	// Output is nil, or if Keep is set.
	Output func(s *S, result R) error
	Keep   bool
	// Timeout is the timeout of one attempt; 0 means none.
	Timeout time.Duration
	Options NodeOptions

	optionCount int // number of options passed to Tool
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
	d.rejectExtraOptions(c.optionCount)
	return d
}

func (c ToolConfig[S, A, R]) call(ctx context.Context, n *Context[S]) (Result[S], error) {
	args := c.Args
	if c.ArgsFunc != nil {
		args = c.ArgsFunc(n.View())
	}
	result, err := callTool(ctx, c.ToolName, c.Timeout, func(ctx context.Context) (R, error) {
		return c.Execute(ctx, args)
	})
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
