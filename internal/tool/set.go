package tool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/permit"
)

// Config says which tools a run may use. The zero Config is a run without tools.
type Config struct {
	// Agents maps an agent to what it may use. An agent that is not in it has no tools.
	Agents map[string]Grant
	// Extra are the toolsets of the operator's tools file. All agents share them.
	Extra []Spec
	// Builtin are tools that agents may name beside the extra ones. They keep their names; other tools give way.
	Builtin []Tool
	// Fallback are tools that agents may name where no built-in and no extra tool answers to the name: what would do the work, or says that
	// nothing here does ([Unavailable]).
	Fallback []Tool
	// Types says how each `type:` is opened. A toolset of another type offers nothing, and calls say so.
	Types map[string]Type
	// Reserved are names that belong to the engine (routing tools, sub-agents): a tool of such a name is offered with its toolset in front.
	Reserved []string
	// Pins are what [Set.NewPins] gave so far while this run was driven, the later over the earlier; nil for a new run.
	Pins Pins
	// Recorded says that the Set is to tell what a run was offered: its toolsets are not opened and have the tools and instructions that Pins tells. Calls fail.
	Recorded bool
	// Permissions are the operator's, for every agent and every tool node.
	Permissions Permissions
	// Former are permissions that hold beside Permissions: those under which the run began, where they were stricter. The zero value adds none.
	Former Permissions
	// PermissionsChanged says that the operator's permissions are not those with which the run began: then whether a call of a former process was
	// held cannot be told any more, and [Set.Policy] does not presume it.
	PermissionsChanged bool
	// CallTimeout bounds a call whose spec says nothing, checks and reconnecting included; 0: 5 minutes.
	CallTimeout time.Duration
	// MaxResultBytes bounds Text and Structured of one result together; 0: 4 MiB. More is a failed call (SEC17).
	MaxResultBytes int
	// Logger; nil: none.
	Logger *slog.Logger
}

const (
	defaultCallTimeout    = 5 * time.Minute
	defaultMaxResultBytes = 4 << 20
	// abandonAfter is how long a tool may go on after its context is done; then Call returns without it.
	abandonAfter = 2 * time.Second
)

// Set is the tools of one run. Safe for concurrent use. No lock is held while a tool works (P40).
type Set struct {
	agents    map[string]Grant
	builtins  map[string]*pinned
	fallbacks map[string]*pinned
	reserved  map[string]bool
	timeout   time.Duration
	maxBytes  int
	log       *slog.Logger

	// own and extra are fixed when the Set is made; opening happens inside them.
	own   map[string][]*instance
	extra []*instance
	all   []*instance // each once

	rules    map[string]permit.Policy // by agent
	everyone permit.Policy            // of agents that are not in rules
	moved    bool                     // Config.PermissionsChanged

	isRecorded bool // Config.Recorded

	mu     sync.Mutex
	tables map[string]*table
	pins   Pins
	fresh  Pins // of pins, those that were not reported
	closed bool
}

// NewSet makes the tools of one run. It opens nothing.
func NewSet(cfg Config) (*Set, error) {
	s := &Set{
		agents:    cfg.Agents,
		builtins:  map[string]*pinned{},
		fallbacks: map[string]*pinned{},
		reserved:  map[string]bool{},
		timeout:   cmp.Or(cfg.CallTimeout, defaultCallTimeout),
		maxBytes:  cmp.Or(cfg.MaxResultBytes, defaultMaxResultBytes),
		log:       cfg.Logger,
		own:       map[string][]*instance{},
		tables:    map[string]*table{},
		pins:      cfg.Pins.clone(),

		isRecorded: cfg.Recorded,
	}
	if err := s.setRules(cfg); err != nil {
		return nil, err
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, name := range cfg.Reserved {
		s.reserved[name] = true
	}
	if err := pinAll(s.builtins, cfg.Builtin); err != nil {
		return nil, err
	}
	if err := pinAll(s.fallbacks, cfg.Fallback); err != nil {
		return nil, err
	}
	for i, name := range nameSpecs(cfg.Extra) {
		in := newInstance(cfg.Extra[i], name, []string{"extra", name}, cfg.Types)
		s.extra = append(s.extra, in)
		s.all = append(s.all, in)
	}
	if err := s.addOwn(cfg); err != nil {
		return nil, err
	}
	return s, nil
}

// pinAll adds tools that are no toolset's to a map by name.
func pinAll(to map[string]*pinned, tools []Tool) error {
	for _, t := range tools {
		def := t.Def()
		if _, ok := to[def.Name]; ok {
			return fmt.Errorf("duplicate built-in tool %q", def.Name)
		}
		e := &pinned{own: def.Name, policy: t.Policy(), tool: t, pin: pinOf(def, t.Policy())}
		var err error
		if e.schema, err = compileSchema(def.Parameters); err != nil {
			return fmt.Errorf("built-in tool %q: %w", def.Name, err)
		}
		to[def.Name] = e
	}
	return nil
}

// addOwn makes the instances of the agents' own toolsets: one per agent, but one for all where equal specs are shared.
func (s *Set) addOwn(cfg Config) error {
	shared := map[string]*instance{}
	agents := make([]string, 0, len(cfg.Agents))
	for name := range cfg.Agents {
		agents = append(agents, name)
	}
	slices.Sort(agents)
	for _, agent := range agents {
		specs := cfg.Agents[agent].Toolsets
		for i, name := range nameSpecs(specs) {
			spec := specs[i]
			if !spec.Shared {
				in := newInstance(spec, name, []string{"agent", agent, name}, cfg.Types)
				s.own[agent] = append(s.own[agent], in)
				s.all = append(s.all, in)
				continue
			}
			key, err := json.Marshal(spec)
			if err != nil {
				return err
			}
			in := shared[string(key)]
			if in == nil {
				sum := sha256.Sum256(key)
				in = newInstance(spec, name, []string{"shared", hex.EncodeToString(sum[:8])}, cfg.Types)
				shared[string(key)] = in
				s.all = append(s.all, in)
			}
			s.own[agent] = append(s.own[agent], in)
		}
	}
	return nil
}

// table gives what an agent may call, working it out on first use.
func (s *Set) table(ctx context.Context, agent string) (*table, error) {
	s.mu.Lock()
	t, closed := s.tables[agent], s.closed
	s.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if t != nil {
		return t, nil
	}
	// Two callers may work out the same table at once; they open each toolset once and come to equal tables.
	t, err := s.build(ctx, agent)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.tables[agent]; first != nil {
		return first, nil
	}
	s.tables[agent] = t
	return t, nil
}

// Defs tells what to offer agent's model, in a stable order and, once it has answered, the same for the rest of the run. It opens the toolsets
// that the agent needs and may block for as long as they take to start; where one cannot be opened the error says which and why.
func (s *Set) Defs(ctx context.Context, agent string) ([]chat.ToolDef, error) {
	t, err := s.table(ctx, agent)
	if err != nil {
		return nil, err
	}
	var defs []chat.ToolDef
	for _, b := range t.bindings {
		pin, _ := b.entry.look()
		def := pin.Def
		def.Name = b.offered
		defs = append(defs, def)
	}
	return defs, nil
}

// Missing lists the names in agent's grant that nothing answers to, for a warning. It opens toolsets as Defs does.
func (s *Set) Missing(ctx context.Context, agent string) ([]string, error) {
	t, err := s.table(ctx, agent)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.missing), nil
}

// Instructions gives what agent's own toolsets said about their use when the run first listed them, or what a person accepted since, for its system prompt (SEC14); "" for
// nothing. It opens toolsets as Defs does.
func (s *Set) Instructions(ctx context.Context, agent string) (string, error) {
	if _, err := s.table(ctx, agent); err != nil {
		return "", err
	}
	var parts []string
	for _, in := range s.own[agent] {
		if text := in.told(); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

// Policy tells what to do with the call c whose outcome is unknown; PolicyAsk for a tool that c.Agent does not have. A call that would have been held,
// and that was not approved, was not carried out: it is made again. It opens toolsets as Defs does.
func (s *Set) Policy(ctx context.Context, c Call) (Policy, error) {
	t, err := s.table(ctx, c.Agent)
	if err != nil {
		return PolicyAsk, err
	}
	b := t.byName[c.Name]
	c.Arguments = Canonical(c.Arguments)
	switch {
	case b == nil:
		return PolicyAsk, nil
	case c.Approved == "" && !s.moved && s.atLeast(b, c) != permit.Allow:
		return PolicyRetry, nil
	}
	return b.entry.policy, nil
}

// Pins gives the definitions that the run holds on to, to be stored with it.
func (s *Set) Pins() Pins {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pins.clone()
}

// Restore gives the run's finished calls, in the journal's order, back to the tools that hold state. Call it once, before Defs and Call, when a
// run is driven again. It opens only toolsets of stateful types: no process is started and no network used.
func (s *Set) Restore(ctx context.Context, calls []Finished) error {
	for _, f := range calls {
		b, err := s.stateful(ctx, f.Call.Agent, f.Call.Name)
		if err != nil {
			return fmt.Errorf("restore tools: %w", err)
		}
		if b == nil {
			continue
		}
		c := f.Call
		c.Name = b.own
		b.tool.(Restorer).Restore(c, f.Result)
	}
	return nil
}

// stateful finds the Restorer that agent called by the offered name. It does without the agent's table, because that would open everything: a
// tool's own name is offered only where no other tool has it, and else the qualified one, so either is an answer.
func (s *Set) stateful(ctx context.Context, agent, name string) (*pinned, error) {
	grant := s.agents[agent]
	for i, in := range slices.Concat(s.own[agent], s.extra) {
		if !in.known || !in.typ.Stateful {
			continue
		}
		entries, err := in.open(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			qualified := qualifiedName(in.name, e.own)
			granted := i < len(s.own[agent]) || slices.ContainsFunc(grant.Names, func(n string) bool {
				return n == All || n == e.own || n == qualified || n == in.name
			})
			if _, ok := e.tool.(Restorer); ok && granted && (cleanName(e.own) == name || qualified == name) {
				return e, nil
			}
		}
	}
	return nil, nil
}

// Close ends everything that the run opened, within 5 s, and makes later calls fail with ErrClosed. It is idempotent.
func (s *Set) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	errs := make([]error, len(s.all))
	var wg sync.WaitGroup
	for i, in := range s.all {
		wg.Go(func() { errs[i] = in.close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
