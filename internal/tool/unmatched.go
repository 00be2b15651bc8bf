package tool

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/permit"
)

// checkRules returns an *Error if a rule with which the document denies or asks about calls might
// name a tool of a toolset whose tools only a server knows, but names none: it would forbid
// nothing. Such toolsets are opened if there is such a rule. Rules that can name no tool were
// judged when the document was read, and a run that has pinned definitions was checked when it
// pinned them.
func (s *Set) checkRules(ctx context.Context) error {
	if !s.checksRules {
		return nil
	}
	s.mu.Lock()
	checked, err := s.rulesChecked, s.rulesErr
	s.mu.Unlock()
	if checked { // the rules of all agents, once, and not again for the table of each
		return err
	}
	open := s.unmatched(s.knownTools(nil))
	judged := s.unmatched(s.knownTools(map[*instance][]*pinned{}))
	if len(open) == len(judged) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rulesChecked = true
		return nil
	}
	listed := map[*instance][]*pinned{}
	for _, o := range s.openAll(ctx, slices.DeleteFunc(slices.Clone(s.all), (*instance).hasKnownTools)) {
		if o.err == nil {
			listed[o.inst] = o.entries
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("check the permissions: %w", context.Cause(ctx))
	}
	known := s.knownTools(listed)
	wrong := slices.DeleteFunc(s.unmatched(known), func(u permit.Unmatched) bool {
		return slices.ContainsFunc(judged, func(j permit.Unmatched) bool {
			return j.List == u.List && j.Index == u.Index && j.Text == u.Text
		})
	})
	if len(wrong) > 0 {
		u := wrong[0]
		e := Errorf(KindUnknownTool, u.Tool, "permissions: %s: %q names %s of this run", u.List, u.Text, u.What())
		if hint := diag.DidYouMean(u.Wrong(known)); hint != "" {
			e.Message += "; " + hint
		}
		err = e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rulesChecked, s.rulesErr = true, err
	return err
}

// hasKnownTools reports whether the tools of a toolset are known before it is opened.
func (in *instance) hasKnownTools() bool {
	return !slices.ContainsFunc(Known([]Spec{in.spec}), func(c permit.Call) bool { return c.Own == "" })
}

// knownTools returns the tools of the run as permissions see them. listed are those of opened
// toolsets; if nil, toolsets whose tools only a server knows are left out, and otherwise any tool
// counts that a toolset which is not in it may have.
func (s *Set) knownTools(listed map[*instance][]*pinned) []permit.Call {
	var out []permit.Call
	for _, in := range s.all {
		entries, opened := listed[in]
		for _, c := range Known([]Spec{in.spec}) {
			if c.Own != "" || listed != nil && !opened {
				out = append(out, c)
			}
		}
		for _, e := range entries {
			b := &binding{inst: in, entry: e, own: e.own}
			for _, b.offered = range []string{cleanName(e.own), qualifiedName(in.name, e.own)} {
				out = append(out, b.permitCall(Call{}, nil))
			}
		}
	}
	names := slices.Concat(slices.Collect(maps.Keys(s.builtins)), slices.Collect(maps.Keys(s.fallbacks)))
	for _, g := range s.agents {
		names = append(names, g.Delegates...)
	}
	for _, name := range names {
		out = append(out, permit.Call{Own: name, Offered: name})
	}
	return out
}

// unmatched returns the patterns with which the document denies or asks about calls that name none
// of the tools.
func (s *Set) unmatched(known []permit.Call) []permit.Unmatched {
	var out []permit.Unmatched
	tools, judged := permit.NewTools(known), map[permit.Identity]bool{}
	for _, agent := range slices.Sorted(maps.Keys(s.agents)) {
		for _, p := range s.agents[agent].Permissions {
			if id := p.Inherited().Identity(); !judged[id] {
				judged[id] = true
				out = append(out, tools.Unmatched(p.Inherited())...)
			}
		}
	}
	return out
}
