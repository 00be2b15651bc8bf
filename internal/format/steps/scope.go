package steps

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// maxIDBytes is the maximum length of ids and of the names from which default ids are derived.
const maxIDBytes = 200

// index looks up the steps of a document by the names used in references.
type index struct {
	names   map[string]*step // by id if it is unique in the document, and by node
	shared  map[string]bool  // ids that several steps share
	lengths []int            // distinct lengths of names and shared ids
	all     []expr.Step      // built on first use
}

func newIndex(root *list) *index {
	x := &index{names: map[string]*step{}, shared: map[string]bool{}}
	root.walk(func(t *step) {
		if t.kind == jump {
			return
		}
		if x.names[t.id] != nil {
			x.shared[t.id] = true
		}
		x.names[t.id] = t
	})
	for id := range x.shared {
		delete(x.names, id)
	}
	root.walk(func(t *step) {
		if t.kind == jump || t.node == "" {
			return
		}
		x.names[t.node] = t
		if t.in.owner == nil && x.shared[t.id] {
			x.names["/"+t.id] = t
		}
	})
	seen := map[int]bool{}
	for id := range x.names {
		seen[len(id)] = true
	}
	for id := range x.shared {
		seen[len(id)] = true
	}
	x.lengths = slices.Sorted(maps.Keys(seen))
	return x
}

// scope is what references at one position of the document may name.
type scope struct {
	r  *reader
	at *step // the condition; nil for an instruction, which is in no list
}

// find returns the step to which an id refers.
//
// An id that is unique in the document refers to that step. If several steps share an id, it refers
// to the step in the nearest enclosing list, then to the one in the outermost list; otherwise the
// id refers to nothing and only a node's path can be used. A leading slash refers to the outermost
// list regardless of nearer steps: Write adds it, since ids in a workflow are node ids.
func (sc scope) find(id string) *step {
	x := sc.r.steps
	if x.shared[id] {
		for at := sc.at; at != nil; at = at.in.owner {
			if t := at.in.byID[id]; t != nil && t.kind != jump {
				return t
			}
		}
	}
	return x.names[id]
}

// resolve returns the step that a reference reads, or nil if it is unknown.
func (sc scope) resolve(ref expr.Ref) *step {
	if ref.Var != "" {
		return nil
	}
	s := sc.find(ref.Step())
	for _, hop := range ref.Steps[1:] {
		if s == nil || s.children == nil {
			return nil
		}
		s = s.child(hop.ID)
	}
	return s
}

func (sc scope) options(text string) expr.Options {
	return expr.Options{Steps: sc.candidates(text), Vars: sc.variables(), Types: func(ref expr.Ref) []string {
		return sc.r.types(sc, ref)
	}}
}

// candidates returns the steps to which the references in text may refer: those whose id follows a
// `$steps`. If a reference names no known step, it returns all steps so that a hint can suggest the
// intended one. It returns nil if not all steps are known.
func (sc scope) candidates(text string) []expr.Step {
	if sc.r.truncated {
		return nil
	}
	const root = "$steps"
	found := map[string]*step{}
	unknown := false
	for rest := text; ; {
		i := strings.Index(rest, root)
		if i < 0 {
			break
		}
		rest = strings.TrimLeft(rest[i+len(root):], ".[ \t\r\n'\"")
		known := false
		for _, n := range sc.r.steps.lengths {
			if n > len(rest) {
				break
			}
			if t := sc.find(rest[:n]); t != nil {
				found[rest[:n]], known = t, true
			}
		}
		unknown = unknown || !known
	}
	if unknown && sc.r.diags.errors <= maxProblems {
		return sc.all(found)
	}
	return offers(found)
}

// all returns all steps by their ids, and those of found that a text names in another way.
func (sc scope) all(found map[string]*step) []expr.Step {
	x := sc.r.steps
	if x.all == nil {
		written := maps.Clone(x.names)
		maps.DeleteFunc(written, func(name string, t *step) bool { return name != t.id })
		x.all = offers(written)
	}
	named := maps.Clone(found)
	maps.DeleteFunc(named, func(name string, t *step) bool { return name == t.id })
	out := slices.Concat(x.all, offers(named))
	for _, id := range slices.Sorted(maps.Keys(x.shared)) {
		if t := sc.find(id); t != nil && x.names[id] == nil {
			out = append(out, t.offer(id))
		}
	}
	return out
}

func offers(steps map[string]*step) []expr.Step {
	out := make([]expr.Step, 0, len(steps))
	for _, id := range slices.Sorted(maps.Keys(steps)) {
		out = append(out, steps[id].offer(id))
	}
	return out
}

// offer declares s under the name id; for a parallel block it includes the contents of the block's
// output.
func (s *step) offer(id string) expr.Step {
	out := expr.Step{ID: id}
	if s.children == nil {
		return out
	}
	if s.offered == nil {
		s.offered = []expr.Step{}
		s.children.inside(func(t *step) bool {
			s.offered = append(s.offered, t.offer(t.id))
			return true
		})
	}
	out.Children = s.offered
	return out
}

// child returns the step that a block's output holds under id.
func (s *step) child(id string) *step {
	var found *step
	s.children.inside(func(t *step) bool {
		if t.id == id {
			found = t
		}
		return found == nil
	})
	return found
}

// variables are the names that references may use in addition to steps, outside maps.
var variables = []string{expr.VarInput}

// variables returns the names that references at this position may use in addition to steps.
func (sc scope) variables() []string {
	if sc.at == nil {
		return variables
	}
	return sc.at.block().items()
}

// items returns the variables of the steps inside a block, which may be nil: the common variables,
// and the items of the enclosing maps.
func (s *step) items() []string {
	vars := slices.Clone(variables)
	for ; s != nil; s = s.block() {
		if s.kind == mapStep {
			item := cmp.Or(s.more.as, workflow.DefaultItem)
			vars = append(vars, item, workflow.ItemIndex(item))
		}
	}
	return vars
}

// withSignal adds the additional names that filters may use.
func withSignal(vars []string) []string { return append(slices.Clone(vars), expr.VarSignal) }

// inside calls f for the steps whose outputs a block with the branches l has: its children, with
// the steps of a condition's branches in place of the condition (S4-34), and after an approval the
// steps of its reject and limit lists. It stops when f returns false.
func (l *list) inside(f func(*step) bool) bool {
	for _, t := range l.items {
		switch t.kind {
		case jump:
		case conditionStep, switchStep:
			for _, sub := range t.lists() {
				if !sub.inside(f) {
					return false
				}
			}
		default:
			if !f(t) || t.no != nil && !t.no.inside(f) || t.limit != nil && !t.limit.inside(f) {
				return false
			}
		}
	}
	return true
}
