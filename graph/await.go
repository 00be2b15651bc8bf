package graph

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/workflow"
)

// AwaitConfig is a node that waits for a named signal from another program and pauses the run
// meanwhile. Signals are sent with `hocket signal RUN NAME VALUE`, the API or MCP. The value, a V
// in JSON, is stored in the outputs under ID. A signal that arrives before the node waits is queued
// for it, first in, first out.
type AwaitConfig[S, V any] struct {
	ID string
	// Signal is the name of the signal: at most 64 letters, digits, `.`, `_` and `-`.
	Signal string
	// Filter reports whether the node accepts a value, given the state when the signal arrives or
	// when the node starts to wait. If nil, all values are accepted. It must be pure. If it fails,
	// the value is not accepted.
	Filter func(v View[S], value V) bool
	// Schema is the schema that values must match; nil means that of V. A value that matches none
	// of the nodes that wait for its name is rejected, and the sender is told.
	Schema *Schema
	// Input writes the value into the state; nil leaves the state unchanged. It must be pure.
	Input func(s *S, value V) error
	// Deadline is how long the node waits; 0 means forever. After that, Default becomes the value
	// without passing through Filter; if Default is nil, the node fails with the code `deadline`,
	// which Options.OnError may handle.
	Deadline time.Duration
	Default  *V
	Options  NodeOptions

	optionCount int // number of options passed to Await
}

// Await returns a node that waits for a signal. input, which may be nil, writes its value into the
// state; see [AwaitConfig].
func Await[S, V any](id, signal string, input func(s *S, value V) error, opts ...NodeOptions) AwaitConfig[S, V] {
	c := AwaitConfig[S, V]{ID: id, Signal: signal, Input: input}
	c.Options, c.optionCount = oneOption(opts)
	return c
}

// Where returns the node with the given Filter.
func (c AwaitConfig[S, V]) Where(filter func(v View[S], value V) bool) AwaitConfig[S, V] {
	c.Filter = filter
	return c
}

// Within returns the node with the given Deadline and the default value.
func (c AwaitConfig[S, V]) Within(d time.Duration, otherwise V) AwaitConfig[S, V] {
	c.Deadline, c.Default = d, &otherwise
	return c
}

// awaiting is a wait for a signal, with the type of its value erased.
type awaiting[S any] struct {
	name     string
	schema   *Schema
	takes    func(View[S], json.RawMessage) (bool, error) // nil means all
	input    func(*S, json.RawMessage) error              // nil means that the value is only in the outputs
	fallback json.RawMessage                              // nil means none
	deadline time.Duration
}

func (c AwaitConfig[S, V]) define() *def[S] {
	a := &awaiting[S]{name: c.Signal, schema: c.Schema, deadline: c.Deadline}
	d := &def[S]{id: c.ID, typ: TypeWait, shape: shapeAwait, opts: c.Options, await: a}
	if a.schema == nil {
		a.schema = SchemaOf[V]()
	}
	if c.Filter != nil {
		a.takes = func(v View[S], raw json.RawMessage) (bool, error) {
			value, err := c.read(raw)
			return err == nil && c.Filter(v, value), err
		}
	}
	if c.Input != nil {
		a.input = func(s *S, raw json.RawMessage) error {
			value, err := c.read(raw)
			if err != nil {
				return err
			}
			return c.Input(s, value)
		}
	}
	if c.Default != nil {
		raw, err := encodeValue(*c.Default)
		if err != nil {
			d.problem = problemf("Await node %q: its Default is no JSON: %v", c.ID, err)
		}
		a.fallback = raw
	}
	switch {
	case !workflow.SignalName(c.Signal):
		d.problem = problemf("Await node %q: the name of its signal is %q; it must have letters, digits, `.`, `_` "+
			"and `-`, at most %d", c.ID, c.Signal, workflow.MaxSignalName)
	case c.Default != nil && c.Deadline == 0 && c.Options.Timeout == 0:
		d.problem = problemf("Await node %q has a Default, but no Deadline", c.ID)
	}
	d.rejectExtraOptions(c.optionCount)
	return d
}

func (c AwaitConfig[S, V]) read(raw json.RawMessage) (value V, err error) {
	if err = json.Unmarshal(raw, &value); err != nil {
		err = fmt.Errorf("decode signal %s: %w", c.Signal, err)
	}
	return value, err
}

func (c *compiler[S]) lowerAwait(n *workflow.Node, d *def[S]) {
	a := d.await
	n.Timeout, n.Kind = 0, workflow.KindWait
	n.Wait = &workflow.Wait{Kind: workflow.WaitSignal, Await: a.name, Schema: json.RawMessage(a.schema.String()),
		Deadline: workflow.Duration(shorter(d.opts.Timeout, a.deadline))}
	if a.takes != nil {
		n.Wait.Filter = &workflow.Condition{Language: workflow.LangFunc, Func: d.id + suffixFilter}
	}
	if a.input != nil {
		n.Wait.Mapper = d.id + suffixInput
	}
	if a.fallback != nil {
		n.Wait.DefaultFunc = d.id + suffixDefault
	}
}

func (c *compiler[S]) awaitFunctions(t *program.Table, d *def[S]) {
	a := d.await
	if a.takes != nil {
		t.Conditions[d.id+suffixFilter] = func(seen program.View) (bool, error) {
			v, err := c.view(seen)
			if err != nil {
				return false, err
			}
			return a.takes(v, seen.Outputs()[d.id])
		}
	}
	if a.input != nil {
		t.Merges[d.id+suffixInput] = func(outputs map[string]program.Value, v program.View) (program.Fields, error) {
			return c.outerChanges(d, outputs[d.id], v.State, a.input)
		}
	}
	if a.fallback != nil {
		t.Values[d.id+suffixDefault] = func(program.View) (program.Value, error) { return a.fallback, nil }
	}
}
