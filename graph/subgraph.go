package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/workflow"
)

// SubgraphConfig is a node that runs another graph, whose state is T, as one step. The steps inside
// are steps of the run: each is journaled once and counts toward the run's MaxSteps; a question
// inside pauses the run, and its answer continues inside. Reducers, error handlers and the order of
// the queue are those of the inner graph, and its Limits apply to this node. Its MaxSteps, Timeout
// and MaxConcurrency apply only if it runs on its own, except that a MaxConcurrency other than 1
// lets its nodes run concurrently. Inner nodes are shown as paths, `<ID>/<inner id>`.
//
// A failure that the inner graph does not handle fails this node with the inner error. For inner
// nodes, the model of this node, or of its graph, takes precedence over their own graph's default;
// fields of their Runtime that are nil come from the outer graph's.
type SubgraphConfig[S, T any] struct {
	ID string
	// Graph is the graph that runs. Exactly one of Graph and Name must be set.
	Graph *Compiled[T]
	// Name is the name of a graph that is looked up when this graph is linked ([Compiled.Link]);
	// its state may be of any type with the fields of T. No graph can contain itself, directly or
	// indirectly. If the name is unknown, the node fails with `Workflow not found: <name>`.
	Name string
	// Input returns the initial state of the inner graph. If nil, fields with the same JSON name
	// are copied. It must be pure.
	Input func(View[S]) T
	// Output writes the final state of the inner graph into the outer state. If nil, the final
	// state is stored in the outputs under ID. It must be pure.
	Output func(s *S, last T) error
	// Options may have a Retry, which reruns the whole inner graph from a newly created initial
	// state; the zero Retry means no retries.
	Options NodeOptions

	optionCount int // number of options passed to Inner
}

// Subgraph is a graph that other graphs can contain, whatever its state type: always a *[Compiled].
type Subgraph interface {
	// Name returns the name of the graph.
	Name() string

	flow() *workflow.Workflow
	functions() *program.Table
	modelAt(node string, state program.State) string
	asks(node string) bool
	link(find resolver, above []ancestor) (Subgraph, error)
	// origin is the same for all graphs that result from one Compile; nil for a nil pointer.
	origin() *identity
}

// subgraph is the graph that a node runs, with its state type erased.
type subgraph[S any] struct {
	graph  Subgraph // if nil, name is set
	name   string
	enter  func(View[S]) (program.Fields, error)
	output func(s *S, last json.RawMessage) error // if nil, the final state is the output
}

func (c SubgraphConfig[S, T]) define() *def[S] {
	d := &def[S]{id: c.ID, typ: TypeSubgraph, shape: shapeSubgraph, opts: c.Options,
		sub: &subgraph[S]{name: c.Name, enter: c.enter}}
	if c.Graph != nil {
		d.sub.graph = c.Graph
	}
	if c.Output != nil {
		d.sub.output = c.leave
	}
	switch texts := lossy(reflect.TypeFor[T]()); {
	case c.Graph != nil && c.Name != "":
		d.problem = problemf("Subgraph node %q takes a graph or a name, not both", c.ID)
	case c.Graph == nil && c.Name == "":
		d.problem = problemf("Subgraph node %q requires a graph or the name of one", c.ID)
	case len(texts) > 0:
		d.problem = problemf("Subgraph node %q: %s", c.ID, texts[0])
	}
	d.rejectExtraOptions(c.optionCount)
	return d
}

func (c SubgraphConfig[S, T]) enter(v View[S]) (program.Fields, error) {
	if c.Input != nil {
		return encode(c.Input(v))
	}
	fields, err := encode(v.State)
	if err != nil {
		return nil, err
	}
	first, err := decode[T](fields)
	if err != nil {
		return nil, err
	}
	return encode(first)
}

func (c SubgraphConfig[S, T]) leave(s *S, last json.RawMessage) error {
	var t T
	if err := json.Unmarshal(ownFields(last), &t); err != nil {
		return fmt.Errorf("decode state: %w", err)
	}
	return c.Output(s, t)
}

// ownFields returns a state without the fields that the graph keeps next to the user's fields. A
// value that is not a state is returned unchanged.
func ownFields(state json.RawMessage) json.RawMessage {
	var fields program.Fields
	if json.Unmarshal(state, &fields) != nil {
		return state
	}
	n := len(fields)
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return reserved(name) })
	if len(fields) == n {
		return state
	}
	out, err := encodeValue(fields)
	if err != nil {
		return state
	}
	return out
}

// lowerSubgraph builds the node and the workflow that it runs, under the node's id, or a node that
// fails if the graph is unknown.
func (c *compiler[S]) lowerSubgraph(w *workflow.Workflow, n *workflow.Node, d *def[S]) {
	inner := c.links[d.id]
	if inner == nil {
		n.Kind, n.Func, n.Retry = workflow.KindFunc, &workflow.FuncNode{Func: d.id}, nil
		return
	}
	n.Kind, n.Subflow = workflow.KindSubflow, c.innerFlow(w, d, d.id)
	if d.sub.output != nil {
		n.Subflow.Mapper = d.id + suffixLeave
	}
	n.Budget = tighter(n.Budget, inner.flow().Limits.Budget())
}

// innerFlow adds the workflow of a node's inner graph under a name, and returns the subflow that
// runs it.
func (c *compiler[S]) innerFlow(w *workflow.Workflow, d *def[S], name string) *workflow.Subflow {
	if w.Flows == nil {
		w.Flows = map[string]*workflow.Workflow{}
	}
	w.Flows[name] = c.links[d.id].flow().RenameFuncs(func(fn string) string { return d.id + suffixGraph + fn })
	return &workflow.Subflow{Flow: name, Input: d.id + suffixEnter}
}

func (c *compiler[S]) subgraphFunctions(t *program.Table, d *def[S]) {
	inner := c.links[d.id]
	if inner == nil {
		text := fmt.Sprintf("Cannot resolve workflow %q: No workflow resolver configured. Run the graph with package "+
			"hocket, or link it first.", d.sub.name)
		if c.linked {
			text = "Workflow not found: " + d.sub.name
		}
		t.Calls[d.id] = func(context.Context, program.Call) program.Result {
			return program.Result{Failure: &program.Failure{Message: text}}
		}
		return
	}
	t.Values[d.id+suffixEnter] = func(v program.View) (program.Value, error) { return c.initialState(d, v) }
	if d.sub.output != nil {
		t.Merges[d.id+suffixLeave] = func(outputs map[string]program.Value, v program.View) (program.Fields, error) {
			return c.outerChanges(d, outputs[d.id], v.State, d.sub.output)
		}
	}
	c.include(t, d)
}

// include adds the functions of a node's inner graph.
func (c *compiler[S]) include(t *program.Table, d *def[S]) {
	t.Include(d.id+suffixGraph, c.links[d.id].functions(), func(call program.Func) program.Func {
		return func(ctx context.Context, p program.Call) program.Result {
			inner := program.Services{Runtime: runtimeFor(p.Services, c.config.Runtime)}
			if p.Services != nil {
				inner.Uncounted = p.Services.Uncounted
			}
			p.Services = &inner
			return call(ctx, p)
		}
	})
}

// initialState returns the initial state of an inner graph: what the node derives from the outer
// state, together with the model.
func (c *compiler[S]) initialState(d *def[S], seen program.View) (program.Value, error) {
	v, err := c.view(seen)
	if err != nil {
		return nil, err
	}
	if err := c.validator.input(d.id, d.opts.InputSchema, &v.State); err != nil {
		return nil, err
	}
	first, err := d.sub.enter(v)
	if err != nil {
		return nil, err
	}
	return c.withModel(d, first, seen.State)
}

// withModel returns the initial state of an inner graph together with the model that the node
// resolves to.
func (c *compiler[S]) withModel(d *def[S], first program.Fields, state program.State) (program.Value, error) {
	if m := c.model(d, state); m != "" {
		raw, err := encodeValue(m)
		if err != nil {
			return nil, err
		}
		first[program.FieldModel] = raw
	}
	return encodeValue(first)
}

// outerChanges returns the changes that leave makes to the outer state, given the final state of an
// inner graph, or a list of final states.
func (c *compiler[S]) outerChanges(d *def[S], last program.Value, state program.State,
	leave func(*S, json.RawMessage) error) (
	program.Fields, error) {
	return c.codec.changed(state, func(s *S) error {
		if err := leave(s, last); err != nil {
			return err
		}
		if err := c.validator.output(d.id, d.opts.OutputSchema, s); err != nil {
			return err
		}
		return c.validator.state(s)
	})
}
