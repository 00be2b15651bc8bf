package steps

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// nameSteps assigns every step without a written id one that no other step of the document has
// (S4-6, D31).
func nameSteps(root *list) {
	taken := map[string]bool{}
	root.walk(func(s *step) {
		if s.written {
			taken[s.id] = true
		}
	})
	next := map[string]int{} // the first number of a name that may be free
	root.walk(func(s *step) {
		if s.written || s.kind == jump {
			return
		}
		base := strings.ReplaceAll(s.name, "/", "_")
		if s.kind == workflowStep {
			base = callID(s.name)
		}
		if base == "" {
			base = s.kind.String()
		}
		s.id = base
		n := max(next[base], 2)
		for ; taken[s.id]; n++ {
			s.id = base + "_" + strconv.Itoa(n)
		}
		taken[s.id], next[base] = true, n
	})
	root.lists(func(l *list) {
		l.byID = make(map[string]*step, len(l.items))
		for _, s := range l.items {
			if s.kind != jump && l.byID[s.id] == nil {
				l.byID[s.id] = s
			}
		}
	})
}

// rejectDuplicateIDs reports ids that occur twice in one list or one block, whose output
// distinguishes steps by their id (S4-34). The two branches of a condition may share ids, since
// only one of them runs.
func (r *reader) rejectDuplicateIDs(root *list) {
	said := map[*step]bool{}
	root.lists(func(l *list) {
		seen := map[string]*step{}
		for _, s := range l.items {
			if s.kind == jump {
				continue
			}
			if first := seen[s.id]; first != nil {
				r.twin(s, first)
				said[s] = true
				continue
			}
			seen[s.id] = s
		}
	})
	root.walk(func(block *step) {
		if block.children == nil {
			return
		}
		seen := map[string][]*step{}
		block.children.inside(func(s *step) bool {
			i := slices.IndexFunc(seen[s.id], func(t *step) bool { return !exclude(s, t) })
			if i >= 0 && !said[s] {
				r.twin(s, seen[s.id][i])
			}
			seen[s.id] = append(seen[s.id], s)
			return true
		})
	})
}

func (r *reader) twin(s, first *step) {
	d := r.diags.Errorf(s.idSpan(), s.path()+".id", codeDuplicateID, "%s: the id %q is taken by %s", s.title(), s.id,
		first.title())
	d.Hint = "give one of them another id"
	source.Twice(d, first.idSpan(), "step with this id")
}

// exclude reports whether a and b are in different branches of one condition.
func exclude(a, b *step) bool {
	for x := a; x.in.owner != nil; x = x.in.owner {
		for y := b; y.in.owner != nil; y = y.in.owner {
			if x.in == y.in {
				return false
			}
			if x.in.owner == y.in.owner {
				return true
			}
		}
	}
	return false
}

// blockPorts are ports that a block itself may fire, so that no branch can start at one of them.
var blockPorts = []string{workflow.PortError, workflow.PortLimit}

// refusePorts reports children of parallel blocks whose ids are ports of the block.
func (r *reader) refusePorts(root *list) {
	root.walk(func(s *step) {
		if s.in.kind == lanes && slices.Contains(blockPorts, s.id) {
			r.diags.Errorf(s.idSpan(), s.path(), codeBadValue, "%s: a child of a parallel step cannot have the id %q",
				s.title(), s.id).Hint =
				"write another `id`"
		}
	})
}

// setNodes sets each step's node id: the step's own id if it is unique in the document or in the
// outermost list, otherwise a path.
func setNodes(root *list) {
	count := map[string]int{}
	root.walk(func(s *step) {
		if s.kind != jump {
			count[s.id]++
		}
	})
	root.walk(func(s *step) {
		switch {
		case s.kind == jump:
		case count[s.id] == 1 || s.in.owner == nil:
			s.node = s.id
		default:
			s.node = s.scope() + s.id
		}
	})
}

// scope returns the path of s's list, such as `outer/check/true/`, or "" for the outermost list.
func (s *step) scope() string {
	if s.in.owner == nil {
		return ""
	}
	p := s.in.owner.scope() + s.in.owner.id + "/"
	if s.in.kind == branchList {
		p += s.in.port + "/"
	}
	return p
}

// callID returns the id of a step that runs a workflow but specifies no id: the workflow's id, or
// its file name without the extension.
func callID(name string) string {
	c, _ := workflow.ParseCall(name)
	if c.File == "" {
		return c.ID
	}
	base := path.Base(c.File)
	return cmp.Or(strings.TrimSuffix(base, path.Ext(base)), base)
}
