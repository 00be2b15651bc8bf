package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// xStep is a step of a random document with extensions.
type xStep struct {
	kind, id string
	path     string // path of the blocks around it, for references from outside
	inside   *xStep // the parent block or map
	cond     *xExpr // `if`, or the condition
	onError  string // "", continue, default, goto
	target   string // target of on_error, or at the deadline
	values   map[string]xValue
	list     []xValue // items of `over`
	name     string   // name in `as`
	// a tool's behavior follows from its arguments; these limit it
	retries     int
	pause       int // seconds between attempts
	timeout     int // in microseconds; 0 means none
	callTimeout int
	sleep       int
	join        string
	quorum      int
	concurrency int
	onItem      string
	signal      string
	least       int // minimum in the schema of a signal or question
	deadline    int
	onDeadline  string
	reject      string // "", list, jump
	rejectJump  string
	limit       string // "", list, next
	limitSteps  []*xStep
	limitJump   string
	yes, no     []*xStep
	yesTo, noTo string
	steps       []*xStep // children of a block or map; steps after a rejection
	status      string   // status of an end step
	child       *xDocument
}

type xDocument struct {
	id     string
	steps  []*xStep
	limit  int
	output map[string]xValue
	child  bool
}

// ref returns the name with which steps outside the enclosing blocks refer to the step.
func (s *xStep) ref() string { return "$steps." + s.path + s.id }

func (s *xStep) as() string {
	if s.name == "" {
		return "item"
	}
	return s.name
}

// xDraw generates random documents.
type xDraw struct {
	r     *rand.Rand
	n     int
	child bool
	below []*xDocument
	// limited is the set of steps whose loops have a limit.
	limited map[string]bool
}

func (d *xDraw) id(kind string) string {
	d.n++
	return fmt.Sprintf("%s%d", kind, d.n)
}

func (d *xDraw) chance(n int) bool { return d.r.IntN(n) == 0 }

// micros returns a random duration that is unlikely to equal any sum of other durations.
func (d *xDraw) micros(seconds int) int { return 1 + d.r.IntN(seconds*1_000_000) }

func drawExtensions(seed uint64) (*xDocument, []*xDocument) {
	d := &xDraw{r: rand.New(rand.NewPCG(seed, 17)), limited: map[string]bool{}}
	doc := d.document()
	return doc, d.below
}

func (d *xDraw) document() *xDocument {
	doc := &xDocument{limit: 1 + d.r.IntN(3), child: d.child}
	doc.steps = d.list(2+d.r.IntN(5), &xPlace{depth: 3, top: true})
	if len(doc.steps) == 0 { // there are enough
		doc.steps = []*xStep{
			{kind: "set", id: d.id("se"), values: map[string]xValue{"v": {expr: &xExpr{op: "n", n: 1}}}},
		}
	}
	d.jumps(doc.steps, nil, nil)
	if d.child || d.chance(3) {
		doc.output = map[string]xValue{"v": {expr: d.number(&xPlace{})}, "last": {expr: &xExpr{op: "n", n: 7}}}
	}
	return doc
}

// xPlace is the position at which steps are generated.
type xPlace struct {
	depth int
	top   bool     // end steps are allowed here
	refs  []*xStep // steps that expressions can read
	maps  []*xStep // the enclosing maps
	timed bool     // the first step takes time, so that no two branches coincide
}

func (p *xPlace) deeper() *xPlace {
	return &xPlace{depth: p.depth - 1, top: p.top, refs: slices.Clone(p.refs), maps: p.maps}
}

func (d *xDraw) list(n int, p *xPlace) []*xStep {
	var out []*xStep
	for i := 0; i < n && d.n < 24; i++ {
		s := d.step(p, i == 0 && p.timed)
		out = append(out, s)
		if s.kind != "condition" && s.kind != "end" && s.kind != "agent" {
			p.refs = append(p.refs, s)
		}
		if s.kind == "parallel" {
			p.refs = append(p.refs, children(s)...)
		}
	}
	return out
}

// children returns the steps of a block whose outputs can be read from outside.
func children(s *xStep) []*xStep {
	var out []*xStep
	for _, c := range s.steps {
		if c.kind != "condition" && c.kind != "agent" {
			out = append(out, c)
		}
	}
	return out
}

// number generates an integer expression.
func (d *xDraw) number(p *xPlace) *xExpr {
	var of []*xStep
	for _, s := range p.refs {
		if s.kind != "sleep" && s.kind != "approval" && s.kind != "parallel" && s.kind != "map" {
			of = append(of, s)
		}
	}
	switch k := d.r.IntN(12); {
	case k < 5 && len(of) > 0:
		return &xExpr{op: "has", n: d.r.IntN(9), of: of[d.r.IntN(len(of))]}
	case k < 6 && len(of) > 0:
		return &xExpr{op: "v", of: of[d.r.IntN(len(of))]}
	case k < 8 && len(p.maps) > 0:
		m := p.maps[d.r.IntN(len(p.maps))]
		if hidden(p, m) {
			m = p.maps[len(p.maps)-1]
		}
		return &xExpr{op: []string{"item", "index"}[d.r.IntN(2)], of: m}
	case k < 9 && len(of) > 0:
		return &xExpr{op: "+", a: d.number(p), b: &xExpr{op: "n", n: 1 + d.r.IntN(3)}}
	case k < 10 && !d.child:
		return &xExpr{op: "input"}
	case k < 11:
		for _, s := range p.refs {
			if s.kind == "map" && s.inside == nil {
				return &xExpr{op: "size", n: 9, of: s}
			}
		}
	}
	return &xExpr{op: "n", n: d.r.IntN(9)}
}

// hidden reports whether an inner map has an item with the same name.
func hidden(p *xPlace, m *xStep) bool {
	return slices.ContainsFunc(p.maps[slices.Index(p.maps, m)+1:], func(inner *xStep) bool {
		return inner.as() == m.as()
	})
}

// definedNumber generates a number that always has a value.
func (d *xDraw) definedNumber(p *xPlace) *xExpr {
	for {
		if e := d.number(p); e.op != "v" && e.op != "+" {
			return e
		}
	}
}

func (d *xDraw) condition(p *xPlace) *xExpr {
	return &xExpr{op: ">", a: d.definedNumber(p), b: &xExpr{op: "n", n: d.r.IntN(8)}}
}

// members generates the members of an object; v is a number.
func (d *xDraw) members(p *xPlace) map[string]xValue {
	out := map[string]xValue{"v": {expr: d.number(p)}}
	if d.chance(4) {
		out["given"] = xValue{previous: true}
	}
	if d.chance(4) {
		out["text"] = xValue{expr: d.number(p), around: true}
	}
	for _, s := range p.refs {
		switch {
		case !d.chance(2):
		case s.kind == "approval":
			out["decision"] = xValue{expr: &xExpr{op: "decision", of: s}}
		case s.onError != "" && s.path == "":
			out["code"] = xValue{expr: &xExpr{op: "code", of: s}}
		}
	}
	return out
}

func (d *xDraw) step(p *xPlace, timed bool) *xStep {
	kinds := []string{"set", "tool", "tool", "sleep", "agent", "ask", "approval", "signal", "condition", "parallel",
		"map", "map", "workflow", "end"}
	kind := kinds[d.r.IntN(len(kinds))]
	switch {
	case timed:
		kind = []string{"tool", "sleep"}[d.r.IntN(2)]
		if len(p.maps) > 0 {
			kind = "tool" // no two items take the same time
		}
	case p.depth <= 0 && (kind == "condition" || kind == "parallel" || kind == "map"),
		d.child && (kind == "ask" || kind == "approval" || kind == "signal" || kind == "workflow" || kind == "agent"),
		kind == "end" && (!p.top || !d.chance(3)):
		kind = "tool"
	}
	s := &xStep{kind: kind, id: d.id(kind[:2])}
	if kind != "condition" && !timed && d.chance(6) || kind == "end" {
		s.cond = d.condition(p)
	}
	if kind != "condition" && kind != "end" && kind != "sleep" && d.chance(3) {
		s.onError = []string{"continue", "default", "goto"}[d.r.IntN(3)]
	}
	d.fill(s, p)
	if timed && kind == "tool" {
		s.values["v"] = xValue{expr: d.definedNumber(p)} // takes time before it fails
		delete(s.values, "text")
		if len(p.maps) > 0 {
			s.timeout, s.callTimeout = 0, 0
		}
	}
	return s
}

// addItemIndexes adds the indexes of the enclosing items to a call, so that no two items make the
// same call.
func (s *xStep) addItemIndexes(p *xPlace) {
	for _, m := range p.maps {
		if !hidden(p, m) {
			s.values["at"+m.id] = xValue{expr: &xExpr{op: "index", of: m}}
		}
	}
}

func (d *xDraw) fill(s *xStep, p *xPlace) {
	switch s.kind {
	case "set":
		s.values = d.members(p)
	case "tool":
		s.values = d.members(p)
		s.addItemIndexes(p)
		if d.chance(3) {
			s.retries, s.pause = d.r.IntN(3), d.r.IntN(2)
		}
		if d.chance(5) {
			s.timeout = d.micros(12)
		}
		if d.chance(5) {
			s.callTimeout = d.micros(9)
		}
	case "sleep":
		s.sleep = d.micros(15)
	case "ask", "signal", "approval":
		s.least = d.r.IntN(4)
		s.signal = []string{"one", "two"}[d.r.IntN(2)]
		if s.kind == "signal" && d.chance(2) {
			s.list = []xValue{{expr: &xExpr{op: ">", a: &xExpr{op: "signal"}, b: d.definedNumber(p)}}} // the filter
		}
		if d.chance(2) {
			s.deadline = d.micros(60)
			s.onDeadline = []string{"fail", "default", "goto"}[d.r.IntN(3)]
			if s.kind == "approval" {
				s.onDeadline = []string{"fail", "approve", "reject", "goto"}[d.r.IntN(4)]
			}
		}
		if s.kind == "approval" && d.chance(2) {
			s.reject = "list"
			q := p.deeper()
			q.refs = append(q.refs, s)
			s.steps = d.list(1+d.r.IntN(2), q)
			if len(s.steps) == 0 {
				s.reject = ""
			}
		} else if s.kind == "approval" && d.chance(2) {
			s.reject = "jump"
		}
		if s.reject == "" && s.onDeadline == "reject" {
			s.onDeadline = "fail"
		}
	case "condition":
		s.cond = d.condition(p)
		s.yes = d.list(d.r.IntN(3), p.deeper())
		s.no = d.list(d.r.IntN(3), p.deeper())
		if len(s.yes)+len(s.no) == 0 {
			s.no = []*xStep{{kind: "set", id: d.id("se"), values: d.members(p)}}
		}
		if d.chance(2) {
			s.limit = "list"
			s.limitSteps = []*xStep{{kind: "set", id: d.id("se"), values: d.members(p)}}
		}
	default:
		d.fillBlock(s, p)
	}
}

func (d *xDraw) fillBlock(s *xStep, p *xPlace) {
	switch s.kind {
	case "parallel":
		for range 1 + d.r.IntN(3) {
			q := p.deeper()
			q.top = false
			c := d.step(q, true)
			if d.chance(2) { // longer branches are branches of conditions
				q.refs = append(q.refs, c)
				c = &xStep{kind: "condition", id: d.id("co"), cond: d.condition(p),
					yes: append([]*xStep{c}, d.list(d.r.IntN(3), q)...)}
				c.no = []*xStep{{kind: "sleep", id: d.id("sl"), sleep: d.micros(15)}}
			}
			c.inside, c.path = s, s.path+s.id+".outputs."
			s.steps = append(s.steps, c)
		}
		s.join = []string{"", "all", "any", "race", "quorum"}[d.r.IntN(5)]
		s.quorum = 1 + d.r.IntN(len(s.steps))
		if d.chance(5) {
			s.timeout = d.micros(20)
		}
	case "map":
		for range d.r.IntN(5) {
			s.list = append(s.list, xValue{expr: d.number(p)})
		}
		s.name = []string{"", "row"}[d.r.IntN(2)]
		s.concurrency = d.r.IntN(4)
		s.onItem = []string{"", "fail_fast", "skip", "collect"}[d.r.IntN(4)]
		if d.chance(3) {
			s.retries = 1 + d.r.IntN(2)
		}
		if d.chance(6) {
			s.timeout = d.micros(25)
		}
		q := p.deeper()
		q.top, q.timed, q.maps = false, true, append(slices.Clone(p.maps), s)
		s.steps = d.list(1+d.r.IntN(3), q)
		if len(s.steps) == 0 {
			s.steps = []*xStep{
				{kind: "tool", id: d.id("to"), values: map[string]xValue{"v": {expr: &xExpr{op: "item", of: s}}}},
			}
			s.steps[0].addItemIndexes(q)
		}
	case "workflow":
		inner := &xDraw{r: d.r, n: d.n, child: true, limited: d.limited}
		s.values = map[string]xValue{"v": {expr: d.number(p)}}
		s.child = inner.document()
		s.child.id = "below" + s.id
		d.below = append(d.below, s.child)
		d.n = inner.n
	case "end":
		s.values = d.members(p)
		s.status = []string{"completed", "completed", "failed"}[d.r.IntN(3)]
	}
}

// The second implementation of the extensions, in the files twin_*_test.go, is written from
// docs/spec/extensions.md: twin_draw generates documents and twin_text writes them, twin_run and
// twin_scopes interpret them, twin_value evaluates their expressions, and twin_extensions compares
// the results. Behavior that the rules leave open is either not generated or defined as follows:
//
//   - sleeps are not part of a block's output, and steps without an agent have the agent "" there;
//   - `items_failed` names the node of the first item that failed; a failed child run has the code
//     `tool`;
//   - a tool that may be called again is called once more if no answer arrived (docs/tools.md);
//   - no two branches or items end at the same moment: the rules do not say which would be first.
