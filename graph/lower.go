package graph

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/workflow"
)

// Names of functions: a node's own function has the node's id, the others have the id followed by
// one of these suffixes.
const (
	suffixIf       = "/if"
	suffixRoute    = "/route/"
	suffixPrompt   = "/prompt"
	suffixInput    = "/input"
	suffixMerge    = "/merge"
	suffixError    = "/error"
	suffixRetry    = "/retry"
	suffixContinue = "/continue"
	suffixFail     = "/fail"   // hidden node after the error handler
	suffixJoin     = "/join"   // hidden node after a parallel block
	suffixEnter    = "/enter"  // makes the initial state of a subgraph
	suffixLeave    = "/leave"  // accepts its final state
	suffixGraph    = "/graph/" // followed by a function of the inner graph
	suffixFilter   = "/filter" // reports whether a wait accepts a signal
	suffixDefault  = "/default"
	suffixOver     = "/over"   // returns the list of a map
	suffixItem     = "/item"   // hidden node that runs the graph of an item
	reducerPrefix  = "reduce/" // followed by the field
)

// lower returns the workflow.
func (c *compiler[S]) lower() *workflow.Workflow {
	w := &workflow.Workflow{
		Name: c.name, Description: c.config.Description, Version: c.config.Version, Format: "graph", Entry: c.start,
		Rules: workflow.TypedRules(), Limits: c.config.Limits.lowered(),
	}
	w.Rules.Serial, w.Rules.Reducers = c.config.MaxConcurrency == 0 || c.config.MaxConcurrency == 1, map[string]string{}
	if isSet, n := numberSetting(c.config.MaxSteps); isSet {
		w.Limits.MaxSteps = &n
	}
	w.Limits.Timeout, w.Limits.MaxConcurrency = workflow.Duration(c.config.Timeout), c.config.MaxConcurrency
	for name, r := range c.config.Reducers {
		if w.Rules.Reducers[name] = r.word; r.fn != nil {
			w.Rules.Reducers[name] = "func:" + reducerPrefix + name
		}
	}
	if !w.Rules.Serial { // the graph's own fields do not conflict
		w.Rules.Reducers[program.FieldUsage], w.Rules.Reducers[caughtField] = Last().word, Last().word
	}
	for _, d := range c.nodes {
		w.Nodes = append(w.Nodes, c.node(w, d))
		if d.loop != nil && !w.Rules.Serial {
			w.Rules.Reducers[d.loop.counter] = Last().word
		}
		if d.shape == shapeMap {
			w.Nodes = append(w.Nodes, c.lowerItem(w, d))
		}
		if d.shape == shapeParallel {
			w.Rules.Reducers[program.FieldUsage] = Last().word
			w.Nodes = append(w.Nodes, workflow.Node{
				ID: d.id + suffixJoin, Kind: workflow.KindJoin, Hidden: true, Parent: c.parent[d.id],
				Join: &workflow.Join{Fork: d.id},
			})
		}
	}
	var back []workflow.Edge
	for _, e := range c.edges {
		out := workflow.Edge{From: e.From, To: e.To, Port: e.port, Label: e.Label}
		switch d := c.index[e.From]; {
		case d.shape == shapeParallel && e.port == "":
			out.From += suffixJoin
		case d.shape == shapeLoopCheck:
			out.Port = ""
			if e.port == labelContinue {
				out.When = &workflow.Condition{Language: workflow.LangFunc, Func: d.id + suffixContinue}
				back = append(back, out)
				continue
			}
		}
		w.Edges = append(w.Edges, out)
	}
	w.Edges = append(back, w.Edges...) // the edge back comes first: successors run only if the loop does not continue
	for _, d := range c.nodes {
		c.lowerEnds(w, d)
	}
	return w
}

// lowerEnds adds the edges that users do not see: from the last nodes of branches to their join,
// and from all nodes to the error handler.
func (c *compiler[S]) lowerEnds(w *workflow.Workflow, d *def[S]) {
	if p := c.parent[d.id]; p != "" {
		from := d.id
		if d.shape == shapeParallel {
			from += suffixJoin
		}
		if !slices.ContainsFunc(c.edges, func(e edge[S]) bool {
			return e.From == d.id && !c.branches(e) && e.port != labelContinue
		}) {
			w.Edges = append(w.Edges, workflow.Edge{From: from, To: p + suffixJoin})
		}
		return
	}
	switch {
	case c.handler == "":
	case d.id != c.handler:
		w.Edges = append(w.Edges, workflow.Edge{From: d.id, Port: workflow.PortError, To: c.handler})
	default:
		fail := d.id + suffixFail
		w.Nodes = append(w.Nodes, workflow.Node{ID: fail, Kind: workflow.KindFunc, Hidden: true,
			Func: &workflow.FuncNode{Func: fail}})
		w.Edges = append(w.Edges, workflow.Edge{From: d.id, To: fail})
	}
}

func (c *compiler[S]) node(w *workflow.Workflow, d *def[S]) workflow.Node {
	n := workflow.Node{
		ID: d.id, Name: d.opts.Name, Parent: c.parent[d.id], Recovery: d.opts.Recovery, Retry: retryOf(d),
		Timeout: workflow.Duration(d.opts.Timeout),
	}
	if d.opts.OnError.fn != nil {
		n.OnError = d.id + suffixError
	}
	if b := d.opts.Budget; b != (Budget{}) {
		n.Budget = new(b.lower())
	}
	switch d.shape {
	case shapePass:
		n.Kind, n.Decide = workflow.KindDecide, &workflow.Decide{Cases: []workflow.Case{}, Else: workflow.PortOut}
	case shapeIf:
		n.Kind, n.Decide = workflow.KindDecide, &workflow.Decide{Else: labelFalse, Cases: []workflow.Case{{
			Port: labelTrue, When: workflow.Condition{Language: workflow.LangFunc, Func: d.id + suffixIf},
		}}}
	case shapeRoutes:
		n.Kind, n.Decide = workflow.KindDecide, &workflow.Decide{Cases: []workflow.Case{}, Else: fallbackPort}
		for i := range d.routes {
			n.Decide.Cases = append(n.Decide.Cases, workflow.Case{
				Port: routePort(i), When: workflow.Condition{Language: workflow.LangFunc, Func: d.id + suffixRoute +
					routePort(i)},
			})
		}
	case shapeWait:
		n.Timeout = 0
		n.Kind = workflow.KindWait
		n.Wait = &workflow.Wait{Kind: workflow.WaitQuestion, Prompt: d.wait.prompt, Options: d.wait.labels,
			AutoApprove: d.wait.approve, Signal: string(SignalHumanInputRequired),
			Deadline: workflow.Duration(d.deadline()), Remind: workflow.Duration(d.wait.remind)}
		if d.wait.ask != nil {
			n.Wait.PromptFunc = d.id + suffixPrompt
		}
		if d.wait.input != nil {
			n.Wait.Mapper = d.id + suffixInput
		}
	case shapeParallel:
		n.Kind = workflow.KindFork
		n.Fork = &workflow.Fork{Join: d.id + suffixJoin, Until: string(d.parallel.strategy()),
			Quorum: d.parallel.Quorum, Shape: workflow.ShapeSteps}
		for _, br := range d.parallel.Branches {
			n.Fork.Branches = append(n.Fork.Branches, workflow.Branch{ID: br})
		}
		if d.parallel.Merge != nil {
			n.Fork.Merge = d.id + suffixMerge
		}
	case shapeSubgraph:
		c.lowerSubgraph(w, &n, d)
	case shapeAwait:
		c.lowerAwait(&n, d)
	case shapeMap:
		c.lowerMap(&n, d)
	case shapeSleep:
		n.Kind, n.Sleep = workflow.KindSleep, d.sleep
	default:
		n.Kind, n.Func, n.First = workflow.KindFunc, &workflow.FuncNode{Func: d.id}, d.shape == shapeLoopCheck
	}
	return n
}

// deadline returns how long a question is open: the shorter of its Deadline and its Timeout.
func (d *def[S]) deadline() time.Duration {
	return shorter(d.opts.Timeout, d.wait.deadline)
}

// shorter returns the shorter of two durations; 0 means none.
func shorter(a, b time.Duration) time.Duration {
	if a > 0 && (b == 0 || a < b) {
		return a
	}
	return b
}

func (c *ParallelConfig[S]) strategy() Strategy {
	if c.Strategy == "" {
		return StrategyAll
	}
	return c.Strategy
}

// attempts returns the maximum number of attempts of a node.
func (d *def[S]) attempts() int {
	switch r := d.opts.Retry; {
	case !r.isSet() && d.shape != shapeFunc:
		return 1
	case r.MaxAttempts == 0:
		return defaultAttempts
	default:
		return r.MaxAttempts
	}
}

func retryOf[S any](d *def[S]) *workflow.Retry {
	r := d.opts.Retry
	if !r.isSet() {
		if d.shape != shapeFunc {
			return nil
		}
		r = defaultRetry()
	}
	out := &workflow.Retry{MaxRetries: d.attempts() - 1, Delay: workflow.Duration(defaultBackoff),
		Multiplier: defaultMultiplier}
	if isSet, delay := numberSetting(r.Backoff); isSet {
		out.Delay = workflow.Duration(delay)
	}
	if r.Multiplier > 0 {
		out.Multiplier = r.Multiplier
	}
	if r.RetryOn != nil {
		out.Func = d.id + suffixRetry
	}
	return out
}

// parallelOutput is the entry of a parallel block in the outputs.
type parallelOutput struct {
	Parallel bool                       `json:"_parallel"`
	Branches []string                   `json:"branches"`
	Strategy Strategy                   `json:"strategy"`
	Results  map[string]json.RawMessage `json:"results"`
}
