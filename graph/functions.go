package graph

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/hocket-run/hocket/internal/program"
)

// table returns the functions that the workflow names.
func (c *compiler[S]) table() *program.Table {
	t := &program.Table{
		Conditions: map[string]func(program.View) (bool, error){},
		Values:     map[string]func(program.View) (program.Value, error){},
		Merges:     map[string]func(map[string]program.Value, program.View) (program.Fields, error){},
		Reducers:   map[string]func(base, mine, theirs program.Value) (program.Value, error){},
		OnErrors:   map[string]func(program.Failure, program.View) (program.Action, error){},
		RetryOns:   map[string]func(program.Failure) (bool, error){},
		Calls:      map[string]func(context.Context, program.Call) program.Result{},
		Counters:   map[string]program.Counter{},
		Brief:      map[string]bool{},
	}
	t.Report = c.report
	for field, r := range c.config.Reducers {
		if r.fn != nil {
			t.Reducers[reducerPrefix+field] = r.fn
		}
	}
	for _, d := range c.nodes {
		c.functions(t, d)
	}
	if d := newDirect(c); d != nil {
		t.Direct = d
	}
	return t
}

func (c *compiler[S]) functions(t *program.Table, d *def[S]) {
	if fn, ok := d.opts.OnError.fn.(func(error, *Context[S]) ErrorAction[S]); ok {
		t.OnErrors[d.id+suffixError] = c.onError(d, fn)
	}
	if r := d.opts.Retry; r.RetryOn != nil {
		t.RetryOns[d.id+suffixRetry] = func(f program.Failure) (bool, error) { return r.RetryOn(errorOf(f)), nil }
	}
	switch d.shape {
	case shapePass, shapeSleep:
	case shapeIf:
		t.Conditions[d.id+suffixIf] = c.condition(d.cond)
	case shapeRoutes:
		for i, r := range d.routes {
			t.Conditions[d.id+suffixRoute+routePort(i)] = c.condition(r.When)
		}
	case shapeWait:
		c.waitFunctions(t, d)
	case shapeParallel:
		if d.parallel.Merge != nil {
			t.Merges[d.id+suffixMerge] = func(outputs map[string]program.Value, v program.View) (
				program.Fields, error) {
				var results []BranchResult
				for _, br := range d.parallel.Branches {
					if out, ok := outputs[br]; ok {
						results = append(results, BranchResult{Branch: br, Output: out})
					}
				}
				return c.codec.changed(v.State, func(s *S) error { return d.parallel.Merge(s, results) })
			}
		}
	case shapeSubgraph:
		c.subgraphFunctions(t, d)
	case shapeAwait:
		c.awaitFunctions(t, d)
	case shapeMap:
		c.mapFunctions(t, d)
	case shapeLoopStart:
		if !c.codec.matchesFold(d.loop.counter) {
			t.Counters[d.id] = program.Counter{Field: d.loop.counter, Reset: true}
		}
		t.Calls[d.id] = func(_ context.Context, call program.Call) program.Result {
			return c.counted(call.State, d.loop.counter, 0)
		}
	case shapeLoopCheck:
		if !c.codec.matchesFold(d.loop.counter) {
			t.Counters[d.id] = program.Counter{Field: d.loop.counter}
		}
		t.Calls[d.id] = func(_ context.Context, call program.Call) program.Result {
			return c.counted(call.State, d.loop.counter, passes(call.State, d.loop.counter)+1)
		}
		t.Conditions[d.id+suffixContinue] = c.condition(d.loop.again)
	default:
		call := c.call(d)
		t.Calls[d.id] = call
		if d.do != nil {
			t.Brief[d.id] = true
		}
		if d.id == c.handler {
			t.Calls[d.id] = wrapErrorHandler(call)
			t.Calls[d.id+suffixFail] = func(_ context.Context, call program.Call) program.Result {
				f := caught(call.State.Get(caughtField))
				return program.Result{Failure: &f}
			}
		}
	}
}

func (c *compiler[S]) waitFunctions(t *program.Table, d *def[S]) {
	if d.wait.ask != nil {
		t.Values[d.id+suffixPrompt] = func(v program.View) (program.Value, error) {
			seen, err := c.view(v)
			if err != nil {
				return nil, err
			}
			return encodeValue(d.wait.ask(seen))
		}
	}
	if d.wait.input != nil {
		t.Merges[d.id+suffixInput] = func(outputs map[string]program.Value, v program.View) (program.Fields, error) {
			raw := outputs[d.id]
			var answer string
			if json.Unmarshal(raw, &answer) != nil {
				answer = string(raw)
			}
			return c.codec.changed(v.State, func(s *S) error { return d.wait.input(s, answer) })
		}
	}
}

func (c *compiler[S]) condition(f func(View[S]) bool) func(program.View) (bool, error) {
	return func(v program.View) (bool, error) {
		seen, err := c.view(v)
		if err != nil {
			return false, err
		}
		return f(seen), nil
	}
}

// counted sets the counter of a loop, and passes reads it. The user's fields are unchanged.
func (c *compiler[S]) counted(state program.State, field string, n int) program.Result {
	out := program.Result{Update: program.Fields{field: json.RawMessage(strconv.Itoa(n))}}
	if !c.codec.matchesFold(field) {
		out.Native = state.Native()
	}
	return out
}

// countedState is a state that has its counters as numbers.
type countedState interface {
	passes(field string) (n int, ok bool)
}

func passes(state program.State, field string) int {
	if c, ok := state.(countedState); ok {
		if n, ok := c.passes(field); ok {
			return n
		}
	}
	n, err := strconv.Atoi(string(state.Get(field)))
	if err != nil {
		return 0
	}
	return n
}

// model returns the model of a node: its own, that of the run, or that of the graph; "" leaves the
// choice to the provider.
func (c *compiler[S]) model(d *def[S], state program.State) string {
	return firstModel(d.opts.Model, modelIn(state), c.config.DefaultModel)
}

// modelIn returns the model of the run, which is stored next to the state, or "" if there is none.
func modelIn(state program.State) string {
	raw := state.Get(program.FieldModel)
	if raw == nil {
		return ""
	}
	var m string
	if json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return m
}

// usageIn returns the context window usage, which is stored next to the state, or nil if there is
// none.
func usageIn(state program.State) *ContextWindowUsage {
	raw := state.Get(program.FieldUsage)
	if raw == nil {
		return nil
	}
	var u ContextWindowUsage
	if json.Unmarshal(raw, &u) != nil {
		return nil
	}
	return &u
}

func feedback(f program.Failure, attempt, most int) *ErrorFeedback {
	return &ErrorFeedback{FailedNodeID: f.Node, ErrorMessage: f.Message, ErrorType: f.Code, Attempt: attempt,
		MaxAttempts: most}
}

func (c *compiler[S]) onError(d *def[S], fn func(error, *Context[S]) ErrorAction[S]) func(program.Failure,
	program.View) (program.Action, error) {
	return func(f program.Failure, v program.View) (program.Action, error) {
		n := &Context[S]{
			ExecutionID: v.Run, NodeID: d.id, Attempt: v.Attempt, Input: c.input(v.Input, viewedOf(v)),
			Errors: executionErrors(v.Errors), LastUpdated: v.Updated,
			Model: c.model(d, v.State), ContextWindowUsage: usageIn(v.State),
			ContextWindowThreshold: c.config.threshold(), Config: &c.config,
		}
		var before seen[S]
		if err := c.codec.read(v.State, &n.State, &before); err != nil {
			return program.Action{}, err
		}
		n.graph, n.seen, n.fields = c, viewedOf(v), v.State
		act := fn(errorOf(f), n)
		out := program.Action{Kind: string(act.Action), Node: act.Node}
		if isSet, delay := numberSetting(act.Delay); isSet {
			out.DelayMS = new(delay.Milliseconds())
		}
		if act.Err != nil {
			out.Failure = failureOf(act.Err)
		}
		if err := c.crosses(d.id, act.Node); act.Action == ActionGoto && err != nil {
			return program.Action{Kind: string(ActionAbort), Failure: failureOf(err)}, nil
		}
		if act.Fallback != nil {
			changed, err := c.codec.changes(&before, act.Fallback)
			if err != nil {
				return out, err
			}
			out.Update = changed.Whole(v.State)
		}
		return out, nil
	}
}

// wrapErrorHandler wraps the error handler: unless it continues elsewhere, the failure that it
// handled is kept for the node that follows.
func wrapErrorHandler(call func(context.Context, program.Call) program.Result) func(context.Context,
	program.Call) program.Result {
	return func(ctx context.Context, c program.Call) program.Result {
		out := call(ctx, c)
		if out.Failure != nil { // the run still fails with the original error
			f := caught(c.Input)
			f.Message += " (and the error handler failed: " + out.Failure.Message + ")"
			return program.Result{Failure: &f}
		}
		if len(out.Goto) == 0 {
			raw, err := encodeValue(handledFailure{Error: failureRecord(caught(c.Input))})
			if err != nil {
				return program.Result{Failure: failureOf(err)}
			}
			if out.Update == nil {
				out.Update = program.Fields{}
			}
			out.Update[caughtField] = raw
		}
		return out
	}
}

// handledFailure is a failure in the form in which it is passed along an error edge and kept.
type handledFailure struct {
	Error failureRecord `json:"error"`
}

type failureRecord struct {
	Code      string        `json:"code"`
	Message   string        `json:"message"`
	Node      string        `json:"node"`
	Retryable bool          `json:"retryable"`
	Stack     string        `json:"stack,omitempty"`
	Problems  program.Value `json:"problems,omitempty"`
	Err       error         `json:"-"`
}

// caught decodes a failure passed along an error edge.
func caught(raw json.RawMessage) program.Failure {
	var in handledFailure
	if err := json.Unmarshal(raw, &in); err != nil || in.Error.Code+in.Error.Message+in.Error.Node == "" {
		return program.Failure{Message: "the error handler was reached by a goto, without a failure to handle"}
	}
	return program.Failure(in.Error)
}
