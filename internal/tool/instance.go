package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// instance is a toolset of a run, opened or not yet opened, with the definitions that the run
// pinned.
type instance struct {
	spec Spec
	name string
	// pinPrefix is the prefix of the keys of this instance in Pins.
	pinPrefix []string
	typ       Type
	known     bool // typ is set

	// gate holds one token; its holder may open and list. It is a channel so that waiting ends with
	// the waiter's context.
	gate chan struct{}

	mu           sync.Mutex
	toolset      Toolset
	entries      []*pinned // nil until the first listing succeeds
	instructions Pin       // instructions pinned by this run
	closed       bool
}

// pinned is one tool with the definition that this run pinned.
type pinned struct {
	own    string
	policy Policy
	// key is the key in Pins; "" for tools that belong to no toolset, which cannot change.
	key string
	// tool is the Tool of the first listing; it is used to restore.
	tool Tool

	mu     sync.Mutex
	pin    Pin
	schema argumentSchema
}

// definition returns the definition as the run knows it.
func (e *pinned) definition() (Pin, argumentSchema) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pin, e.schema
}

// accept pins another definition from now on.
func (e *pinned) accept(s *Set, p Pin) {
	before, _ := e.definition()
	p.At = before.At
	s.mu.Lock()
	s.setPin(e.key, p)
	s.mu.Unlock()
	sch, err := compileSchema(p.Def.Parameters)
	if err != nil {
		s.log.Warn("arguments of a tool cannot be checked", "tool", e.own, "err", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pin, e.schema = p, sch
}

func newInstance(spec Spec, name string, pinPrefix []string, types map[string]Type) *instance {
	spec.Name = name
	typ, ok := types[spec.Type]
	return &instance{spec: spec, name: name, pinPrefix: pinPrefix, typ: typ, known: ok, gate: make(chan struct{}, 1)}
}

// open returns the pinned tools, listing them on first use. A failure is not cached: the next call
// tries again, unless the run continues without the toolset.
func (in *instance) open(ctx context.Context, s *Set) ([]*pinned, error) {
	in.mu.Lock()
	entries, closed := in.entries, in.closed
	in.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case entries != nil:
		return entries, nil
	case s.absence(in) != nil:
		return nil, s.absence(in)
	case s.isRecorded:
		return in.recorded(s), nil
	case !in.known:
		return nil, Errorf(KindUnsupported, in.name, "toolsets of type %s are not supported", in.spec.Type)
	}
	if err := in.spec.CheckTrusted(); err != nil {
		return nil, in.wrap(err)
	}
	if err := in.lock(ctx); err != nil {
		return nil, err
	}
	defer in.unlock()
	in.mu.Lock()
	entries = in.entries
	in.mu.Unlock()
	switch {
	case entries != nil:
		return entries, nil
	case s.absence(in) != nil:
		return nil, s.absence(in)
	}
	ts, tools, err := in.list(ctx)
	if err != nil {
		return s.without(ctx, in, err)
	}
	entries = s.pin(in, tools, in.currentInstructions(ts))
	in.mu.Lock()
	defer in.mu.Unlock()
	in.entries = entries
	return entries, nil
}

// lock takes the gate.
func (in *instance) lock(ctx context.Context) error {
	select {
	case in.gate <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("open toolset %q: %w", in.name, context.Cause(ctx))
	}
}

func (in *instance) unlock() { <-in.gate }

// list returns the toolset, which it opens on first use, and its tools. The caller holds the gate.
func (in *instance) list(ctx context.Context) (Toolset, []Tool, error) {
	in.mu.Lock()
	ts, closed := in.toolset, in.closed
	in.mu.Unlock()
	if closed {
		return nil, nil, ErrClosed
	}
	if ts == nil {
		var err error
		if ts, err = in.typ.Open(in.spec); err != nil {
			return nil, nil, in.wrap(err)
		}
		in.mu.Lock()
		if in.closed {
			in.mu.Unlock()
			return nil, nil, errors.Join(ErrClosed, ts.Close())
		}
		in.toolset = ts
		in.mu.Unlock()
	}
	tools, err := ts.Tools(ctx)
	if err != nil {
		return nil, nil, in.wrap(err)
	}
	return ts, tools, nil
}

// wrap converts a failure to open into an *Error, unless it is one already or the context is done.
func (in *instance) wrap(err error) error {
	var e *Error
	if errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, ErrClosed) {
		return fmt.Errorf("open toolset %q: %w", in.name, err)
	}
	kind := KindFailed
	var untrusted *UntrustedError
	switch {
	case errors.As(err, &untrusted):
		kind = KindUntrusted
	case errors.Is(err, context.DeadlineExceeded):
		kind = KindTimeout
	}
	return Errorf(kind, in.name, "open toolset %q: %w", in.name, err)
}

// pin records the current definitions of the tools, and the toolset's instructions for use. If an
// earlier process of the run pinned tools of this instance, tools that it did not pin are new and
// left out; tools whose definition differs are offered with the pinned definition, and held when
// they are called (SEC14).
func (s *Set) pin(in *instance, tools []Tool, says string) []*pinned {
	s.mu.Lock()
	defer s.mu.Unlock()
	seenBefore := s.hasPins(in)
	s.pinInstructions(in, says, seenBefore)
	entries := []*pinned{}
	for _, t := range tools {
		def := t.Def()
		if len(in.spec.Tools) > 0 && !slices.Contains(in.spec.Tools, def.Name) {
			continue
		}
		if in.spec.ReadOnly && !readsOnly(in.spec.Type, t) {
			continue
		}
		if slices.ContainsFunc(entries, func(e *pinned) bool { return e.own == def.Name }) {
			s.log.Warn("toolset lists a duplicate tool", "toolset", in.name, "tool", def.Name)
			continue
		}
		policy := t.Policy()
		if in.spec.Policy != "" {
			policy = in.spec.Policy
		}
		if !policy.Valid() {
			policy = PolicyAsk
		}
		e := &pinned{own: def.Name, policy: policy, key: pinKey(append(slices.Clone(in.pinPrefix), def.Name)...),
			tool: t}
		before, ok := s.pins[e.key]
		switch {
		case ok:
			e.pin = before
		case seenBefore:
			s.log.Warn("toolset added a tool after the run started; it is not offered", "toolset", in.name, "tool",
				def.Name)
			continue
		default:
			e.pin = pinOf(def, t.Policy())
			e.pin.At = len(entries) + 1
			s.setPin(e.key, e.pin)
		}
		s.compile(in, e)
		entries = append(entries, e)
	}
	for _, name := range in.spec.Tools {
		if !slices.ContainsFunc(entries, func(e *pinned) bool { return e.own == name }) {
			s.log.Warn("toolset lists a tool that it does not have", "toolset", in.name, "tool", name)
		}
	}
	return entries
}

// compile prepares the check of arguments against the pinned definition.
func (s *Set) compile(in *instance, e *pinned) {
	var err error
	if e.schema, err = compileSchema(e.pin.Def.Parameters); err != nil {
		s.log.Warn("arguments of a tool cannot be checked", "toolset", in.name, "tool", e.own, "err", err)
	}
}

// current returns the tool as it is listed now with its current definition, and the toolset's
// instructions, both as pinned by the run and as they are now.
func (in *instance) current(ctx context.Context, e *pinned) (t Tool, now Pin, was, says Pin, err error) {
	in.mu.Lock()
	ts, closed := in.toolset, in.closed
	in.mu.Unlock()
	if closed {
		return nil, now, was, says, ErrClosed
	}
	var tools []Tool
	if ts != nil {
		if tools, err = ts.Tools(ctx); err != nil {
			return nil, now, was, says, in.wrap(err)
		}
	} else { // it did not open when its tools were offered
		if err = in.lock(ctx); err != nil {
			return nil, now, was, says, err
		}
		ts, tools, err = in.list(ctx)
		if in.unlock(); err != nil {
			return nil, now, was, says, err
		}
	}
	in.mu.Lock()
	was = in.instructions
	in.mu.Unlock()
	says = instructionsPin(in.currentInstructions(ts)) // of the connection that listed the tools
	for _, t := range tools {
		if def := t.Def(); def.Name == e.own && in.spec.ReadOnly && !readsOnly(in.spec.Type, t) {
			return nil, now, was, says, Errorf(KindChanged, e.own,
				"tool %q is not available: it may change something now, and toolset %q is readonly", e.own, in.name)
		} else if def.Name == e.own {
			return t, pinOf(def, t.Policy()), was, says, nil
		}
	}
	return nil, now, was, says, Errorf(KindChanged, e.own, "tool %q is not available: toolset %q no longer offers it",
		e.own, in.name)
}

func (in *instance) close() error {
	in.mu.Lock()
	ts := in.toolset
	in.closed = true
	in.mu.Unlock()
	if ts == nil {
		return nil
	}
	if err := ts.Close(); err != nil {
		return fmt.Errorf("close toolset %q: %w", in.name, err)
	}
	return nil
}
