package conformance_test

import "slices"

// jumps sets the targets of branches that lead elsewhere: earlier or later steps in the enclosing
// lists.
func (d *xDraw) jumps(list []*xStep, before, behind []string) {
	for i, s := range list {
		var later []string
		for _, l := range list[i+1:] {
			if l.kind != "condition" && l.kind != "end" {
				later = append(later, l.id)
			}
		}
		later = append(later, behind...)
		pick := func(of ...[]string) string {
			all := slices.Concat(of...)
			if len(all) == 0 {
				return ""
			}
			return all[d.r.IntN(len(all))]
		}
		if s.onError == "goto" || s.onDeadline == "goto" {
			if s.target = pick(before, later); s.target == "" {
				s.onError, s.onDeadline = replaceGoto(s.onError, "continue"), replaceGoto(s.onDeadline, "fail")
			}
		}
		if s.reject == "jump" {
			if s.rejectJump = pick(before); s.rejectJump == "" {
				s.reject = ""
				if s.onDeadline == "reject" {
					s.onDeadline = "fail"
				}
			}
		}
		switch s.kind {
		case "parallel":
			for _, c := range s.steps {
				d.jumps([]*xStep{c}, nil, nil)
			}
		case "map":
			d.jumps(s.steps, nil, nil)
		case "approval":
			d.jumps(s.steps, before, later)
		case "condition":
			d.jumps(s.yes, before, later)
			d.jumps(s.no, before, later)
			to := pick(before)
			switch {
			case to == "" || d.chance(2):
				to = ""
			case d.chance(2):
				s.yesTo = to
			default:
				s.noTo = to
			}
			if d.limited[to] || !slices.ContainsFunc(list[:i], func(x *xStep) bool { return x.id == to }) {
				s.limit = ""
			} else if s.limit != "" {
				d.limited[to] = true
			}
			if s.limit != "" && len(later) > 0 && d.chance(2) {
				s.limitJump = pick(later)
			}
		}
		if s.kind != "condition" && s.kind != "end" {
			before = append(slices.Clone(before), s.id)
		}
	}
}

// replaceGoto replaces a goto without a target.
func replaceGoto(word, other string) string {
	if word == "goto" {
		return other
	}
	return word
}
