package steps

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// kind is the kind of a list item. A jump is not a step of its own: it stands for its target.
type kind int

const (
	agentStep kind = iota
	conditionStep
	switchStep
	parallelStep
	toolStep
	setStep
	endStep
	approvalStep
	askStep
	sleepStep
	workflowStep
	mapStep
	signalStep
	jump
)

// stepTypes returns the document keywords for the kinds of steps, by kind.
func stepTypes() []string {
	return []string{"agent", "condition", "switch", "parallel", "tool", "set", "end", "approval", "ask", "sleep",
		"workflow", "map", "signal"}
}

func (k kind) String() string {
	if k == jump {
		return "jump"
	}
	return stepTypes()[k]
}

// listKind is the position of a list, which determines what its items mean.
type listKind int

const (
	rootList   listKind = iota // the steps of the workflow
	branchList                 // the steps of a branch of a condition or a switch
	lanes                      // the steps of a parallel block: they run concurrently, so none precedes another
	bodyList                   // the steps of a map, for each item
)

// list is one list of steps. items has document order, order has execution order (S4-7).
type list struct {
	kind  listKind
	owner *step // nil for the root
	port  string
	name  string // where it is in its owner, in messages
	// the branch is a bare scalar instead of a list (S4-18)
	scalar bool
	items  []*step
	order  []*step
	place  map[*step]int    // place in order
	byID   map[string]*step // by id, the first if several share one
}

// step is one item of a list. Fields that do not apply to its kind are zero.
type step struct {
	kind    kind
	in      *list
	index   int  // in in.items
	written bool // the id is in the document (D31)

	id   string // as referenced; unique in its list
	node string // id of the node; a path ending in /id if id is repeated elsewhere

	name     string // the agent, or the tool
	prompt   string // of an agent step: the user message, "" for the outputs of all previous steps
	cases    []*choice
	no       *list // of a condition, a switch or an approval: what follows if no case holds, or a rejection
	limit    *list // of a step that closes a loop: what follows when the loop reaches its limit
	children *list
	body     *list // of a map
	retry    *workflow.Retry
	budget   *workflow.Budget
	more     extension
	offered  []expr.Step // what a parallel block's output holds; built on first use

	reordered []*step // of a condition: the later siblings that run before it, in declared order (S4-7)
	target    *step   // of a jump
	wanted    string  // of a jump: the id that it names, "" if it names an index
	at        int     // of a jump: the index that it names

	bare      bool // the item is a scalar, or specifies no type
	untyped   bool // has only an id, which may be a jump (S4-8 b)
	malformed bool // the keys that its type needs are present, but of the wrong type
	broken    bool // was reported and is not part of the graph

	where              field // the whole item
	idField, nameField field
}

// choice is a case of a condition, which has one, or of a switch.
type choice struct {
	text  string       // the condition, as written
	value *source.Node // its node
	path  string       // its path in the document
	then  *list        // nil continues with the next step
	cond  checked
}

// decides reports whether s chooses one of its branches.
func (s *step) decides() bool { return s.kind == conditionStep || s.kind == switchStep }

func (s *step) span() diag.Span { return s.where.span }

func (s *step) path() string { return s.where.path }

func (s *step) idSpan() diag.Span {
	if s.idField.value != nil {
		return s.idField.value.Span
	}
	return s.span()
}

// title returns the name of the step's position as used in messages: `workflow step[2].true[0]`.
func (s *step) title() string {
	if s.in.scalar {
		return s.in.title()
	}
	return s.in.title() + "[" + strconv.Itoa(s.index) + "]"
}

func (l *list) title() string {
	switch {
	case l.owner == nil:
		return "workflow step"
	case l.borders():
		return l.owner.title() + ".steps"
	}
	return l.owner.title() + "." + cmp.Or(l.name, l.port)
}

// borders reports whether what runs in l is isolated from what runs around it.
func (l *list) borders() bool { return l.kind == lanes || l.kind == bodyList }

// block returns the parallel step or the map that contains s, or nil if there is none.
func (s *step) block() *step {
	for l := s.in; l.owner != nil; l = l.owner.in {
		if l.borders() {
			return l.owner
		}
	}
	return nil
}

// lists returns the lists that s itself contains, in the order in which a reader of the document
// encounters them.
func (s *step) lists() []*list {
	ls := []*list{s.children, s.body}
	for _, c := range s.cases {
		ls = append(ls, c.then)
	}
	ls = append(ls, s.no, s.limit)
	return slices.DeleteFunc(ls, func(l *list) bool { return l == nil })
}

// walk calls f for every step nested in l, parents first, in declared order.
func (l *list) walk(f func(*step)) {
	for _, s := range l.items {
		f(s)
		for _, sub := range s.lists() {
			sub.walk(f)
		}
	}
}

// earlier reports whether a precedes b when b's list is first executed: their lists share an
// ancestor that runs in order, and a's side comes first there. Two lanes of one block never see
// each other (S4-12).
func earlier(a, b *step) bool {
	for x := a; x != nil; x = x.in.owner {
		for y := b; y != nil; y = y.in.owner {
			if x.in == y.in {
				return x != y && x.in.kind != lanes && x.in.place[x] < x.in.place[y]
			}
		}
	}
	return false
}

// leads describes in the words of documents when the path behind a node's port is followed: `it
// fails`.
func leads(port string) string {
	switch port {
	case workflow.PortOut:
		return "it has ended"
	case workflow.PortError:
		return "it fails"
	case workflow.PortTimeout:
		return "its deadline has passed"
	case workflow.PortApprove:
		return "it is approved"
	case workflow.PortReject:
		return "it is rejected"
	case workflow.PortLimit:
		return "its loop has made all its passes"
	}
	return "its branch " + strconv.Quote(port) + " is taken"
}

// after names what follows a node through a port: `what follows where it fails`.
func after(port string) string { return "what follows where " + leads(port) }
