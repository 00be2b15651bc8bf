package steps

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// arrange determines the order in which each list runs and the target of each jump.
//
// Jumps by a repeated id are searched for twice: a step hoisted by a condition runs earlier than
// its position in the document, so a branch may jump back to it (S4-7, S4-8).
func (r *reader) arrange(root *list) {
	root.lists(func(l *list) { l.setOrder(slices.Clone(l.items)) })
	r.findRepeats(root)
	root.lists(r.hoist)
	r.findRepeats(root)
	root.walk(func(s *step) {
		if s.kind == jump && s.target == nil {
			r.aim(s)
		}
	})
}

// lists calls f for l and every list nested in it, parents first.
func (l *list) lists(f func(*list)) {
	f(l)
	for _, s := range l.items {
		for _, sub := range s.lists() {
			sub.lists(f)
		}
	}
}

func (l *list) setOrder(order []*step) {
	l.order = order
	l.place = make(map[*step]int, len(order))
	for i, s := range order {
		l.place[s] = i
	}
}

// hoist moves later siblings that a condition of l reads before that condition, once each and in
// declared order (S4-7).
func (r *reader) hoist(l *list) {
	if l.kind == lanes {
		return
	}
	order := make([]*step, 0, len(l.items))
	placed := map[*step]bool{}
	for _, s := range l.items {
		if placed[s] {
			continue
		}
		if s.kind == conditionStep {
			for _, t := range r.readBy(s) {
				for t.in != l && t.in.owner != nil {
					t = t.in.owner
				}
				if t.in != l || t.index <= s.index || t.decides() || t.kind == jump {
					continue
				}
				s.reordered = append(s.reordered, t)
			}
			slices.SortFunc(s.reordered, func(a, b *step) int { return a.index - b.index })
			s.reordered = slices.Compact(s.reordered)
			for _, t := range s.reordered {
				if !placed[t] {
					placed[t] = true
					order = append(order, t)
				}
			}
		}
		placed[s] = true
		order = append(order, s)
	}
	l.setOrder(order)
}

// findRepeats turns branch items that repeat the written id of an earlier step into jumps (S4-8 b).
func (r *reader) findRepeats(root *list) {
	root.walk(func(s *step) {
		if s.kind == jump || !s.written || s.in.kind != branchList {
			return
		}
		for at := s.in.owner; at != nil; at = at.in.owner {
			t := at.in.byID[s.id]
			if t != nil && t.written && t.kind != jump && at.in.place[t] <= at.in.place[at] &&
				(at.in.kind != lanes || t == at) {
				r.repeat(s, t)
				return
			}
			if at.in.borders() {
				return
			}
		}
	})
}

// repeat makes s a jump back to t.
func (r *reader) repeat(s, t *step) {
	if s.addsTo(t) {
		r.diags.Warnf(s.span(), s.path(), codeJumpIgnores,
			"%s repeats the id %q, so it goes back to %s; what else it says is not used", s.title(), s.id, t.title())
	}
	s.kind, s.target, s.wanted = jump, t, s.id
	s.cases, s.no, s.limit, s.children, s.body, s.retry, s.more = nil, nil, nil, nil, nil, nil, extension{}
}

// addsTo reports whether s specifies anything beyond being a repetition of t.
func (s *step) addsTo(t *step) bool {
	adds := len(s.cases) > len(t.cases)
	for i, c := range s.cases {
		adds = adds || c.then != nil || c.text != "" && c.text != t.cases[i].text
	}
	return s.kind != t.kind && !s.bare || s.name != "" && s.name != t.name ||
		adds || s.no != nil || s.limit != nil || s.children != nil || s.body != nil ||
		s.retry != nil
}

// aim resolves the target of a bare scalar (S4-18).
func (r *reader) aim(s *step) {
	if s.wanted == "" {
		r.aimAt(s)
		return
	}
	var outside *step
	left := false
	for at := s.in.owner; at != nil; at = at.in.owner {
		t := at.in.byID[s.wanted]
		switch {
		case t == nil || t.kind == jump:
		case left || at.in.kind == lanes && t != at:
			outside = t
		case !t.written:
			d := r.diags.Errorf(s.span(), s.path(), codeUnknownTarget,
				"%s: invalid target %q: only an id that is written in the document can be a target", s.title(),
				s.wanted)
			d.Hint = "write `id: " + s.wanted + "` on " + t.title()
			d.Related = []diag.Related{{Span: t.span(), Message: "this step has the id by default"}}
			return
		default:
			s.target = t
			return
		}
		left = left || at.in.borders()
	}
	if outside != nil {
		r.leaves(s, outside)
		return
	}
	d := r.diags.Errorf(s.span(), s.path(), codeUnknownTarget, "%s: step %q not found in an enclosing list", s.title(),
		s.wanted)
	d.Hint = r.diags.similar(s.wanted, s.targets)
}

// targets returns the ids that a jump in the branch of s may name.
func (s *step) targets() []string {
	var out []string
	for at := s.in.owner; at != nil; at = at.in.owner {
		for _, t := range at.in.items {
			if t.written && t.kind != jump && (at.in.kind != lanes || t == at) {
				out = append(out, t.id)
			}
		}
		if at.in.borders() {
			break
		}
	}
	return out
}

// aimAt resolves the target of a bare number: an index into the list that contains the condition.
func (r *reader) aimAt(s *step) {
	in := s.in.owner.in
	if s.at < 0 || s.at >= len(in.items) || in.items[s.at].kind == jump {
		d := r.diags.Errorf(s.span(), s.path(), codeUnknownTarget,
			"%s: there is no step with the index %d in the list of %s",
			s.title(), s.at, s.in.owner.title())
		d.Hint = "the first step has the index 0"
		return
	}
	t := in.items[s.at]
	if in.kind == lanes && t != s.in.owner {
		r.leaves(s, t)
		return
	}
	s.target = t
}

func (r *reader) leaves(s, t *step) {
	what, hint := "its branch of a parallel block", "put the condition after the parallel block"
	if b := s.block(); b.kind == mapStep {
		what, hint = "its map", "put the condition after the map"
	}
	r.diags.Errorf(s.span(), s.path(), codeUnknownTarget, "%s: a jump to %s would leave %s", s.title(), t.title(),
		what).Hint = hint
}
