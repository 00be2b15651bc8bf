package permit

import "slices"

// Edits reports whether a person who is asked about a call may change its arguments: any of the
// rules names it under Edit.
func (p Policy) Edits(c Call) bool {
	if !slices.ContainsFunc(p.sets, func(s set) bool { return len(s.edit) > 0 }) {
		return false
	}
	r := read(c)
	return slices.ContainsFunc(p.sets, func(s set) bool {
		return slices.ContainsFunc(s.edit, func(p pattern) bool {
			fits, _ := p.admits(r)
			return fits
		})
	})
}

// AsksMore reports whether any rule asks about the call now that does not ask about the call was,
// so that an answer about was does not apply to it.
func (p Policy) AsksMore(was, now Call) bool {
	before, after := read(was), read(now)
	for _, s := range p.sets {
		for _, p := range slices.Concat(s.ask, s.deny) { // a deny rule asks if it is not sure
			if p.catches(after) != no && p.catches(before) == no {
				return true
			}
		}
		d, by := s.allows(after)
		if had, former := s.allows(before); d >= Ask && (d != had || by != former) {
			return true
		}
	}
	return false
}
