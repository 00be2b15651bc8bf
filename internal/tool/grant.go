package tool

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
)

// All in [Grant.Names] means every tool of the extra toolsets.
const All = "*"

// Grant specifies the tools that one agent may use.
type Grant struct {
	// Toolsets are the agent's own toolsets, from its document.
	Toolsets []Spec
	// Names holds full names, each of a built-in tool, a tool of the extra toolsets (its own name,
	// or `TOOLSET_TOOL`), an extra toolset, which stands for all its tools, or a fallback. They are
	// looked up in this order and the first match is used. All stands for every extra tool. Partial
	// names do not match.
	Names []string
	// Delegates are the names of the tools with which the agent passes work to others, which are
	// not in the Set; permissions may name them.
	Delegates []string
	// Permissions are the document's permissions for this agent. All of them apply, in addition to
	// the operator's; the strictest takes precedence.
	Permissions []Permissions
}

// binding is one tool that one agent may call.
type binding struct {
	inst      *instance // nil for a built-in or fallback tool
	entry     *pinned
	own       string
	qualified bool // the grant names the tool with its toolset
	offered   string
}

// table is everything that one agent may call.
type table struct {
	bindings []*binding // in the order offered
	byName   map[string]*binding
	// missing holds the granted names that match nothing; unsupported says which listed toolsets
	// Hocket cannot open.
	missing     []string
	unsupported []string
}

// nameSpecs returns a name for every spec, unique in its list: its own name or else its type, with
// a number appended if the name is taken.
func nameSpecs(specs []Spec) []string {
	taken := map[string]bool{}
	for _, s := range specs {
		if s.Name != "" {
			taken[s.Name] = true
		}
	}
	names := make([]string, len(specs))
	given := map[string]bool{}
	for i, s := range specs {
		name := s.Name
		if name == "" || given[name] {
			base := s.Title()
			name = base
			for n := 2; taken[name] || given[name]; n++ {
				name = base + "_" + strconv.Itoa(n)
			}
		}
		names[i], given[name] = name, true
	}
	return names
}

// build computes an agent's table, opening the toolsets that it needs.
func (s *Set) build(ctx context.Context, agent string) (*table, error) {
	grant := s.agents[agent]
	t := &table{byName: map[string]*binding{}}
	for _, o := range s.openAll(ctx, s.own[agent]) {
		if o.err != nil && !t.isUnsupported(o.err) {
			return nil, o.err
		}
		t.addInstance(o.inst, o.entries)
	}
	names := grant.Names
	if agent == "" { // steps name tools: the document's own come first
		names = slices.DeleteFunc(slices.Clone(names), t.has)
	}
	if err := s.addNames(ctx, t, names); err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for name := range s.reserved {
		taken[name] = true
	}
	for _, name := range grant.Delegates {
		taken[name] = true
	}
	var offered []*binding
	for _, b := range t.bindings {
		if b.inst == nil {
			b.offered = b.own
			taken[b.own] = true
			continue
		}
		offered = append(offered, b)
	}
	offerNames(offered, taken)
	for _, b := range t.bindings {
		t.byName[b.offered] = b
	}
	return t, nil
}

// opened is the result of opening one instance.
type opened struct {
	inst    *instance
	entries []*pinned
	err     error
}

// openAll opens instances concurrently, so that an agent waits only for the slowest server. The
// results are in the order of list.
func (s *Set) openAll(ctx context.Context, list []*instance) []opened {
	out := make([]opened, len(list))
	var wg sync.WaitGroup
	for i, in := range list {
		wg.Go(func() {
			entries, err := in.open(ctx, s)
			out[i] = opened{in, entries, err}
		})
	}
	wg.Wait()
	return out
}

// addNames resolves the names of a grant. An extra toolset that cannot be opened is an error only
// if one of the names might refer to a tool in it.
func (s *Set) addNames(ctx context.Context, t *table, names []string) error {
	var rest []string
	for _, name := range names {
		if b, ok := s.builtins[name]; ok {
			t.add(&binding{entry: b, own: b.own})
			continue
		}
		rest = append(rest, name)
	}
	if len(rest) == 0 {
		return nil
	}
	listed := map[*instance][]*pinned{}
	var failures []error
	unanswered := false
	for _, o := range s.openAll(ctx, s.extra) {
		if o.err != nil && !t.isUnsupported(o.err) {
			failures = append(failures, o.err)
			continue
		}
		listed[o.inst] = o.entries
	}
	for _, name := range rest {
		found := false
		if name == All {
			if len(failures) > 0 {
				return errors.Join(failures...)
			}
			for _, in := range s.extra {
				t.addInstance(in, listed[in])
			}
			continue
		}
		for _, in := range s.extra {
			for _, e := range listed[in] {
				if e.own == name {
					t.add(&binding{inst: in, entry: e, own: e.own})
					found = true
				}
			}
		}
		for _, in := range s.extra {
			for _, e := range listed[in] {
				if !found && qualifiedName(in.name, e.own) == name {
					t.add(&binding{inst: in, entry: e, own: e.own, qualified: true})
					found = true
				}
			}
		}
		for _, in := range s.extra {
			if !found && in.name == name && listed[in] != nil {
				t.addInstance(in, listed[in])
				found = true
			}
		}
		if found {
			continue
		}
		unanswered = true
		if e := s.fallbacks[name]; e != nil {
			// one of the agent's own toolsets has this name
			if !slices.ContainsFunc(t.bindings, func(b *binding) bool { return b.own == name }) {
				t.add(&binding{entry: e, own: e.own})
			}
			continue
		}
		t.missing = append(t.missing, name)
	}
	if unanswered && len(failures) > 0 {
		return errors.Join(failures...)
	}
	return nil
}

// isUnsupported reports whether err says that Hocket cannot open a toolset, and if so records the
// reason. Such a toolset offers no tools, and calls report that, but it does not stop the run.
func (t *table) isUnsupported(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindUnsupported {
		return false
	}
	if !slices.Contains(t.unsupported, e.Message) {
		t.unsupported = append(t.unsupported, e.Message)
	}
	return true
}

func (t *table) addInstance(in *instance, entries []*pinned) {
	for _, e := range entries {
		t.add(&binding{inst: in, entry: e, own: e.own})
	}
}

// has reports whether one of the agent's own toolsets has a tool with that name, qualified or not.
func (t *table) has(name string) bool {
	return slices.ContainsFunc(t.bindings, func(b *binding) bool {
		return b.own == name || qualifiedName(b.inst.name, b.own) == name
	})
}

// add grants a tool unless it is already granted.
func (t *table) add(b *binding) {
	if !slices.ContainsFunc(t.bindings, func(o *binding) bool { return o.entry == b.entry }) {
		t.bindings = append(t.bindings, b)
	}
}
