package tool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// absentSuffix ends the key in [Pins] of a toolset that did not start. No tool has such a key: the
// parts of keys are escaped, and none of them is empty at this place.
const absentSuffix = "//absent"

// Absent returns, in a stable order, which toolsets did not start and are left out of the run, with
// the reason of each.
func (p Pins) Absent() []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if strings.HasSuffix(key, absentSuffix) {
			out = append(out, p[key].Def.Description)
		}
	}
	return out
}

func (in *instance) absentKey() string { return pinKey(slices.Clone(in.pinPrefix)...) + absentSuffix }

// absence returns an *Error of [KindUnsupported] if the run continues without a toolset that did
// not start, otherwise nil.
func (s *Set) absence(in *instance) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.pins[in.absentKey()]; ok {
		return &Error{Kind: KindUnsupported, Tool: in.name, Message: p.Def.Description}
	}
	return nil
}

// without returns the tools of a toolset that did not start because of err. Unless the toolset is
// optional, that is an error. The tools that the run has pinned stay, and calls of them try to
// start the toolset again; if there are none, the run continues without the toolset, on every
// machine.
func (s *Set) without(ctx context.Context, in *instance, err error) ([]*pinned, error) {
	te, ok := errors.AsType[*Error](err)
	if !in.spec.Optional || !ok || ctx.Err() != nil || errors.Is(err, ErrClosed) ||
		te.Kind == KindUntrusted || te.Kind == KindUnsupported {
		return nil, err
	}
	s.log.Warn("toolset did not start", "toolset", in.name, "err", err)
	s.mu.Lock()
	seenBefore := s.hasPins(in)
	if !seenBefore {
		s.setPin(in.absentKey(), pinOf(chat.ToolDef{
			Description: "the run continues without the tools of toolset " + strconv.Quote(in.name) + ": " +
				te.Message}, ""))
	}
	s.mu.Unlock()
	if !seenBefore {
		return nil, s.absence(in)
	}
	return in.recorded(s), nil
}

// hasPins reports whether a process of the run has listed the toolset. The caller holds s.mu.
func (s *Set) hasPins(in *instance) bool {
	prefix := pinKey(slices.Clone(in.pinPrefix)...) + "/"
	for key := range s.pins {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
