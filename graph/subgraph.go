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

// SubgraphConfig is a node that runs another graph, whose state is T, as one step (S2-66). The steps inside are steps of the run: each is journaled
// once and counts against the run's MaxSteps, a question inside pauses the run, and its answer goes on inside. Reducers, error handlers and the order
// of the queue are those of the inner graph; its Limits bound this node; its MaxSteps, Timeout and MaxConcurrency bound only runs of its own, except that a MaxConcurrency other
// than 1 lets its nodes run together. Inner nodes are shown as paths, `<ID>/<inner id>`.
//
// A failure that the inner graph does not handle fails this node with the inner error. Inner nodes use the model of this node, or of its graph, before
// their own graph's default (S2-79), and of the outer graph's Runtime what theirs leaves nil.
type SubgraphConfig[S, T any] struct {
	ID string
	// Graph is the graph that runs. Either Graph or Name is needed, not both.
	Graph *Compiled[T]
	// Name is that of a graph which is looked up when this one is linked ([Compiled.Link]); its state may be of any type with the fields of T. No graph
	// can contain itself, not through others either. Where the name is unknown the node fails with `Workflow not found: <name>`.
	Name string
	// Input makes the first state of the inner graph. Nil: fields of the same name in JSON are taken over. It must be pure.
	Input func(View[S]) T
	// Output writes the last state of the inner graph into this one's. Nil: the last state is in the outputs under ID. It must be pure.
	Output func(s *S, last T) error
	// Options may hold a Retry, which runs the inner graph anew as a whole, from a first state made anew; nil: nothing is tried again.
	Options NodeOptions

	tooMany int // options of Inner
}

// Subgraph is a graph that others can contain, whatever its state: a *[Compiled], and nothing else.
type Subgraph interface {
	// Name gives the name of the graph.
	Name() string

	flow() *workflow.Workflow
	functions() *program.Table
	modelAt(node string, state program.State) string
	asks(node string) bool
	link(find resolver, above []ancestor) (Subgraph, error)
	// origin is equal for all graphs that one Compile led to; nil for a nil pointer.
	origin() *identity
}

// subgraph is what a node runs, the type of its state hidden.
type subgraph[S any] struct {
	graph Subgraph // nil: name says which
	name  string
	enter func(View[S]) (program.Fields, error)
	leave func(s *S, last json.RawMessage) error // nil: the last state is the output
}

func (c SubgraphConfig[S, T]) define() *def[S] {
	d := &def[S]{id: c.ID, typ: TypeSubgraph, shape: shapeSubgraph, opts: c.Options, sub: &subgraph[S]{name: c.Name, enter: c.enter}}
	if c.Graph != nil {
		d.sub.graph = c.Graph
	}
	if c.Output != nil {
		d.sub.leave = c.leave
	}
	switch texts := lossy(reflect.TypeFor[T]()); {
	case c.Graph != nil && c.Name != "":
		d.problem = problemf("Subgraph node %q takes a graph or a name, not both", c.ID)
	case c.Graph == nil && c.Name == "":
		d.problem = problemf("Subgraph node %q requires a graph or the name of one", c.ID)
	case len(texts) > 0:
		d.problem = problemf("Subgraph node %q: %s", c.ID, texts[0])
	}
	d.surplus(c.tooMany)
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

// ownFields gives a state without what the graph keeps beside the user's fields. What is no state stays as it is.
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

// lowerSubgraph makes the node and the workflow that it runs, under the node's id; a node that fails where the graph is unknown.
func (c *compiler[S]) lowerSubgraph(w *workflow.Workflow, n *workflow.Node, d *def[S]) {
	inner := c.links[d.id]
	if inner == nil {
		n.Kind, n.Func, n.Retry = workflow.KindFunc, &workflow.FuncNode{Func: d.id}, nil
		return
	}
	n.Kind, n.Subflow = workflow.KindSubflow, c.innerFlow(w, d, d.id)
	if d.sub.leave != nil {
		n.Subflow.Mapper = d.id + suffixLeave
	}
	n.Budget = tighter(n.Budget, inner.flow().Limits.Budget())
}

// innerFlow adds the workflow of the inner graph of a node under a name, and gives what runs it.
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
		text := fmt.Sprintf("Cannot resolve workflow %q: No workflow resolver configured. Run the graph with package hocket, or link it first.", d.sub.name)
		if c.linked {
			text = "Workflow not found: " + d.sub.name
		}
		t.Calls[d.id] = func(context.Context, program.Call) program.Result {
			return program.Result{Failure: &program.Failure{Message: text}}
		}
		return
	}
	t.Values[d.id+suffixEnter] = func(v program.View) (program.Value, error) { return c.entered(d, v) }
	if d.sub.leave != nil {
		t.Merges[d.id+suffixLeave] = func(outputs map[string]program.Value, v program.View) (program.Fields, error) {
			return c.left(d, outputs[d.id], v.State, d.sub.leave)
		}
	}
	c.include(t, d)
}

// include adds the functions of the inner graph of a node.
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

// entered gives the first state of an inner graph: what the node makes of this one's, with the model beside it.
func (c *compiler[S]) entered(d *def[S], seen program.View) (program.Value, error) {
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

// withModel gives a first state of an inner graph with the model beside it that the node resolves to.
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

// left gives what the last state of an inner graph, or those of a list, change in this one's by leave.
func (c *compiler[S]) left(d *def[S], last program.Value, state program.State, leave func(*S, json.RawMessage) error) (program.Fields, error) {
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
