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

// Config specifies which tools a run may use. The zero Config is a run without tools.
type Config struct {
	// Agents maps each agent to its grant. An agent that is not in it has no tools.
	Agents map[string]Grant
	// Extra holds the toolsets of the operator's tools file. All agents share them.
	Extra []Spec
	// Builtin holds tools that agents may name in addition to the extra ones. They keep their
	// names; on a clash, other tools are renamed.
	Builtin []Tool
	// Fallback holds tools that agents may name if no built-in and no extra tool has the name. Use
	// [Unavailable] for a tool that this process cannot provide.
	Fallback []Tool
	// Types specifies how each `type:` is opened. A toolset of any other type offers nothing, and
	// calls report that.
	Types map[string]Type
	// Reserved holds names that belong to the engine (routing tools, sub-agents); a tool with such
	// a name is offered with its toolset as a prefix.
	Reserved []string
	// Pins holds everything that [Set.NewPins] has returned so far for this run, later pins over
	// earlier ones; nil for a new run.
	Pins Pins
	// Recorded makes the Set report what a run was offered: its toolsets are not opened and have
	// the tools and instructions recorded in Pins. Calls fail.
	Recorded bool
	// Permissions are the operator's permissions, for every agent and every tool node.
	Permissions Permissions
	// Former holds permissions that apply in addition to Permissions: those under which the run
	// began, if they were stricter. The zero value adds none.
	Former Permissions
	// PermissionsChanged is set if the operator's permissions differ from those with which the run
	// began. It is then unknown whether a call of an earlier process was held, and [Set.Policy]
	// does not assume it.
	PermissionsChanged bool
	// AllowUnknown lets agents' permissions deny or ask about tools that no server has. Otherwise
	// the first use of a tool, or of a list of tools, reports them.
	AllowUnknown bool
	// Unattended is set if nobody waits for the run: a call that is asked about only because its
	// command may start others fails, instead of waiting for an answer that never comes.
	Unattended bool
	// CallTimeout is the timeout of a call whose spec sets none, including checks and reconnecting;
	// 0 means 5 minutes.
	CallTimeout time.Duration
	// MaxResultBytes is the maximum total size of Text and Structured in one result; 0 means 4 MiB.
	// A larger result fails the call (SEC17).
	MaxResultBytes int
	// Logger is the logger; nil disables logging.
	Logger *slog.Logger
}

const (
	defaultCallTimeout    = 5 * time.Minute
	defaultMaxResultBytes = 4 << 20
	// abandonAfter is how long a tool may continue after its context is done before Call returns
	// without it.
	abandonAfter = 2 * time.Second
)

// Set holds the tools of one run. It is safe for concurrent use. No lock is held while a tool runs
// (P40).
type Set struct {
	agents    map[string]Grant
	builtins  map[string]*pinned
	fallbacks map[string]*pinned
	reserved  map[string]bool
	timeout   time.Duration
	maxBytes  int
	log       *slog.Logger

	// own and extra are fixed when the Set is created; opening an instance changes only the
	// instance.
	own   map[string][]*instance
	extra []*instance
	all   []*instance // each instance once

	rules              map[string]permit.Policy // by agent
	defaultRules       permit.Policy            // for agents that are not in rules
	inherited          map[string]permit.Policy // by agent: for its sub-agents, in addition to theirs
	permissionsChanged bool                     // Config.PermissionsChanged
	unattended         bool                     // Config.Unattended

	isRecorded bool // Config.Recorded

	checksRules bool // see checkRules

	mu      sync.Mutex
	tables  map[string]*table
	pins    Pins
	newPins Pins // pins not yet returned by NewPins
	closed  bool

	rulesChecked bool
	rulesErr     error // the result of checkRules
}

// NewSet creates the Set of one run. It opens nothing.
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

		checksRules: !cfg.AllowUnknown && !cfg.Recorded && len(cfg.Pins) == 0,
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

// pinAll adds tools that belong to no toolset to a map by name.
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

// addOwn creates the instances of the agents' own toolsets: one per agent, or a single one if equal
// specs are shared.
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

// table returns the tools that an agent may call, computing them on first use.
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
	// Two callers may compute the same table concurrently; they open each toolset once and arrive
	// at equal tables.
	if err := s.checkRules(ctx); err != nil {
		return nil, err
	}
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

// Defs returns the tool definitions to offer to the agent's model, in a stable order and, once it
// has succeeded, unchanged for the rest of the run. It opens the toolsets that the agent needs and
// may block for as long as they take to start; if one cannot be opened, the error says which and
// why.
func (s *Set) Defs(ctx context.Context, agent string) ([]chat.ToolDef, error) {
	t, err := s.table(ctx, agent)
	if err != nil {
		return nil, err
	}
	var defs []chat.ToolDef
	for _, b := range t.bindings {
		pin, _ := b.entry.definition()
		def := pin.Def
		def.Name = b.offered
		defs = append(defs, def)
	}
	return defs, nil
}

// Missing returns the names in the agent's grant that match nothing, for a warning. It opens
// toolsets as Defs does.
func (s *Set) Missing(ctx context.Context, agent string) ([]string, error) {
	t, err := s.table(ctx, agent)
	if err != nil {
		return nil, err
	}
	return slices.Clone(t.missing), nil
}

// Instructions returns the instructions of the agent's own toolsets for its system prompt, as of
// when the run first listed them, or as a person has accepted since (SEC14); "" means none. It
// opens toolsets as Defs does.
func (s *Set) Instructions(ctx context.Context, agent string) (string, error) {
	if _, err := s.table(ctx, agent); err != nil {
		return "", err
	}
	var parts []string
	for _, in := range s.own[agent] {
		if text := in.pinnedInstructions(); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

// Policy returns how to handle the call c whose outcome is unknown; it returns PolicyAsk for a tool
// that c.Agent does not have. A call that would have been held, and that was not approved, was not
// executed and is made again, and so is one that delegates. It opens toolsets as Defs does.
func (s *Set) Policy(ctx context.Context, c Call) (Policy, error) {
	if c.Delegates {
		return PolicyRetry, nil
	}
	t, err := s.table(ctx, c.Agent)
	if err != nil {
		return PolicyAsk, err
	}
	b := t.byName[c.Name]
	c.Arguments = Canonical(c.Arguments)
	switch {
	case b == nil:
		return PolicyAsk, nil
	case c.Approved == "" && !s.permissionsChanged && s.atLeast(b, c) != permit.Allow:
		return PolicyRetry, nil
	}
	return b.entry.policy, nil
}

// Order reports how a call of a reply takes its place among the others: whether it may be in flight
// together with neighbours ([Concurrent]), and whether a person must decide about it, as far as is
// known now. Calls that are not made, because they are invalid, may be in flight together. A call
// that delegates may be, and asks also if the rules deny it. It opens toolsets as Defs does.
func (s *Set) Order(ctx context.Context, c Call) (concurrent, asks bool) {
	if c.Delegates {
		return true, s.delegation(c) != permit.Allow
	}
	t, err := s.table(ctx, c.Agent)
	if err != nil {
		return false, false
	}
	b := t.byName[c.Name]
	if b == nil {
		return true, false
	}
	_, sch := b.entry.definition()
	args, problem := sch.check(c.Arguments)
	if problem != "" {
		return true, false
	}
	c.Arguments = Canonical(args)
	if r, ok := b.entry.tool.(Concurrent); ok {
		concurrent = r.Concurrent()
	}
	c, resources, err := s.within(ctx, b, b.entry.tool, c)
	return concurrent, err == nil && s.decide(b, c, resources) == permit.Ask
}

// Pins returns the definitions that the run pinned, to be stored with it.
func (s *Set) Pins() Pins {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pins.clone()
}

// Restore passes the run's finished calls, in journal order, to the tools that hold state. It must
// be called once, before Defs and Call, when a run is resumed. It opens only toolsets of stateful
// types: no process is started and no network used.
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

// stateful returns the Restorer that agent called by the offered name. It does not use the agent's
// table, because that would open everything: a tool's own name is offered only if no other tool has
// it, and otherwise the qualified name, so a match of either is correct.
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

// Close closes everything that the run opened, within 5 s, and makes later calls fail with
// ErrClosed. It is idempotent.
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
