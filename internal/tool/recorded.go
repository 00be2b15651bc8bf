package tool

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// recordedTool is a tool from [Config.Recorded]: its definition is known, but it cannot be called.
type recordedTool struct {
	own string
	pin Pin
}

func (t recordedTool) Def() chat.ToolDef {
	def := t.pin.Def
	def.Name = t.own
	return def
}

func (t recordedTool) Policy() Policy { return t.pin.Policy }

func (t recordedTool) Call(context.Context, Call) (Result, error) {
	return Result{}, Errorf(KindUnsupported, t.own, "tool %q is known from a journal and cannot be called", t.own)
}

// recorded returns the tools and the instructions of an instance that are recorded in Pins, in the
// order in which the toolset listed them.
func (in *instance) recorded(s *Set) []*pinned {
	prefix := pinKey(slices.Clone(in.pinPrefix)...) + "/"
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := []*pinned{}
	for _, key := range slices.Sorted(maps.Keys(s.pins)) {
		if !strings.HasPrefix(key, prefix) || key == in.instructionsKey() {
			continue
		}
		p := s.pins[key]
		t := recordedTool{own: p.Def.Name, pin: p}
		e := &pinned{own: t.own, policy: p.Policy, key: key, tool: t, pin: p}
		s.compile(in, e)
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b *pinned) int { return a.pin.At - b.pin.At })
	in.mu.Lock()
	defer in.mu.Unlock()
	in.entries, in.instructions = entries, s.pins[in.instructionsKey()]
	return entries
}
