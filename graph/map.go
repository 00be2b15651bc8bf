package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/workflow"
)

// Possible effects of the failure of a map item.
const (
	failFast     = "fail_fast"
	skipItem     = "skip"
	collectItems = "collect"
)

// MapConfig is a node that runs its body once for each item of a list, several items concurrently.
// An item is the initial state of its body, whose nodes work on a state of type T, like those of an
// inner graph (see [SubgraphConfig]); Over copies into the item what they need from the surrounding
// state. The final states are stored in the outputs under ID, in the order of the list, with null
// for a skipped item. Nodes of the body are shown as paths, `<ID>/item/<id>`.
//
// A finished item does not run again: neither after a crash, nor on a Retry of the node, which
// starts the items that failed or did not end. A list of more than 10,000 items fails the node with
// the code `max_items`. If MaxSteps is not set, the run may take 100 more steps for each item that
// starts.
type MapConfig[S, T any] struct {
	ID string
	// Over returns the list, once for each execution of the node. It must be pure.
	Over func(View[S]) []T
	// Body holds the nodes that run for each item, in sequence; at least one.
	Body []Node[T]
	// MaxConcurrency is the maximum number of concurrent items; 0 means 10. Items start in the
	// order of the list.
	MaxConcurrency int
	// OnItemError specifies the effect of the failure of an item, in the words of documents:
	// `fail_fast`, or "", cancels the other items and fails the map with that failure, its message
	// prefixed with `items[PLACE]: `; `skip` and `collect` are those of SkipFailed and
	// CollectFailed.
	OnItemError string
	// Output writes the final states of the items into the state, in the order of the list, without
	// skipped items. If nil, they are only in the outputs. It must be pure.
	Output func(s *S, results []T) error
	// Config is the configuration with which the body is compiled. Its Limits apply to each item,
	// Options.Budget to all of them together; its MaxSteps and Timeout have no effect. The Runtime
	// and the model of the surrounding graph replace those of the body that are nil or "".
	Config  Config
	Options NodeOptions
}

// Map returns a node that runs a body for each item of a list; see [MapConfig].
func Map[S, T any](id string, over func(View[S]) []T, body ...Node[T]) MapConfig[S, T] {
	return MapConfig[S, T]{ID: id, Over: over, Body: body}
}

// AtOnce returns the map with a different limit on concurrent items.
func (c MapConfig[S, T]) AtOnce(items int) MapConfig[S, T] {
	c.MaxConcurrency = items
	return c
}

// SkipFailed returns a map that continues without the items that fail.
func (c MapConfig[S, T]) SkipFailed() MapConfig[S, T] {
	c.OnItemError = skipItem
	return c
}

// CollectFailed returns a map that lets all items end and then fails, with the code `items_failed`,
// if some have failed. If an OnError skips that failure, the list in the outputs has {"error":
// {"code", "message", "node"}} in their places.
func (c MapConfig[S, T]) CollectFailed() MapConfig[S, T] {
	c.OnItemError = collectItems
	return c
}

// Into returns the map with the given Output.
func (c MapConfig[S, T]) Into(output func(s *S, results []T) error) MapConfig[S, T] {
	c.Output = output
	return c
}

func (c MapConfig[S, T]) define() *def[S] { return &def[S]{problem: "a map is several nodes"} }

// mapSpec describes a map, with the type of its items erased.
type mapSpec[S any] struct {
	over    func(View[S]) (json.RawMessage, error)
	into    func(s *S, list json.RawMessage) error // nil means that the list is only in the outputs
	most    int
	failure string
	limits  Budget // per item
}

// addTo adds the map. Its body becomes a separate graph.
func (c MapConfig[S, T]) addTo(b *Builder[S], at diag.Span) {
	inner := &Builder[T]{name: c.ID, index: map[string]*def[T]{}, began: at, inside: true}
	for _, n := range c.Body {
		inner.then(at, n)
	}
	d := &def[S]{
		id: c.ID, typ: TypeMap, shape: shapeMap, opts: c.Options, sub: &subgraph[S]{name: c.ID},
		each: &mapSpec[S]{over: c.list, most: c.MaxConcurrency, failure: c.OnItemError, limits: c.Config.Limits.Budget},
	}
	if c.Output != nil {
		d.each.into = c.into
	}
	d.problem = c.misuse()
	if d.problem == "" {
		g, err := inner.compile(at, c.Config)
		if l := (diag.List)(nil); errors.As(err, &l) {
			b.problems = append(b.problems, l...)
		}
		if err == nil {
			d.sub.graph = g
		}
	}
	b.then(at, d)
}

// misuse describes what is wrong with the map; it returns "" if nothing is.
func (c MapConfig[S, T]) misuse() string {
	switch t := reflect.TypeFor[T](); {
	case c.Over == nil:
		return problemf("Map node %q requires a function that gives its list", c.ID)
	case len(c.Body) == 0:
		return problemf("Map node %q requires a body of at least one node", c.ID)
	case t.Kind() != reflect.Struct:
		return problemf("Map node %q has items of the type %s; an item is the state of its body, and must be a struct",
			c.ID, t)
	}
	switch c.OnItemError {
	case "", failFast, skipItem, collectItems:
	default:
		return problemf("Map node %q has the unknown OnItemError %q", c.ID, c.OnItemError)
	}
	if isSet, n := numberSetting(c.MaxConcurrency); isSet && n < 1 {
		return problemf("Map node %q: MaxConcurrency is %d; it must be at least 1", c.ID, n)
	}
	return ""
}

// list returns the list of a map as JSON.
func (c MapConfig[S, T]) list(v View[S]) (json.RawMessage, error) {
	items := c.Over(v)
	if items == nil {
		items = []T{}
	}
	return encodeValue(items)
}

func (c MapConfig[S, T]) into(s *S, list json.RawMessage) error {
	var states []json.RawMessage
	if err := json.Unmarshal(list, &states); err != nil {
		return fmt.Errorf("decode results: %w", err)
	}
	results := make([]T, 0, len(states))
	for i, raw := range states {
		if string(raw) == "null" {
			continue
		}
		var t T
		if err := json.Unmarshal(ownFields(raw), &t); err != nil {
			return fmt.Errorf("decode result of item %d: %w", i, err)
		}
		results = append(results, t)
	}
	return c.Output(s, results)
}

// ownItems returns the states of a list without the fields that the graph of its items keeps next
// to the user's fields.
func ownItems(list json.RawMessage) json.RawMessage {
	var states []json.RawMessage
	if json.Unmarshal(list, &states) != nil {
		return list
	}
	for i, raw := range states {
		states[i] = ownFields(raw)
	}
	out, err := encodeValue(states)
	if err != nil {
		return list
	}
	return out
}

func (c *compiler[S]) lowerMap(n *workflow.Node, d *def[S]) {
	n.Kind = workflow.KindMap
	n.Map = &workflow.Map{OverFunc: d.id + suffixOver, Entry: d.id + suffixItem, MaxConcurrency: d.each.most,
		OnItemError: d.each.failure}
	if d.each.into != nil {
		n.Map.Merge = d.id + suffixMerge
	}
}

// lowerItem returns the node in the body of a map, which runs the graph of an item.
func (c *compiler[S]) lowerItem(w *workflow.Workflow, d *def[S]) workflow.Node {
	id := d.id + suffixItem
	return workflow.Node{
		ID: id, Kind: workflow.KindSubflow, Hidden: true, Parent: d.id, Subflow: c.innerFlow(w, d, id),
		Budget: tighter(nil, d.each.limits.lower()),
	}
}

func (c *compiler[S]) mapFunctions(t *program.Table, d *def[S]) {
	t.Values[d.id+suffixOver] = func(seen program.View) (program.Value, error) {
		v, err := c.view(seen)
		if err != nil {
			return nil, err
		}
		if err := c.validator.input(d.id, d.opts.InputSchema, &v.State); err != nil {
			return nil, err
		}
		return d.each.over(v)
	}
	t.Values[d.id+suffixEnter] = func(v program.View) (program.Value, error) {
		first := program.Fields{}
		if err := json.Unmarshal(v.Input, &first); err != nil {
			return nil, fmt.Errorf("decode item: %w", err)
		}
		return c.withModel(d, first, v.State)
	}
	if d.each.into != nil {
		t.Merges[d.id+suffixMerge] = func(outputs map[string]program.Value, v program.View) (program.Fields, error) {
			return c.outerChanges(d, outputs[d.id], v.State, d.each.into)
		}
	}
	c.include(t, d)
}
