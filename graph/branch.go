package graph

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// conditional is an if that is still open.
type conditional[S any] struct {
	decision           string
	thenBegin, thenEnd string
	elseBegin, elseEnd string
	inElse             bool
	at                 diag.Span
}

func (c *conditional[S]) begin(id string) {
	if c.inElse {
		c.elseBegin = id
	} else {
		c.thenBegin = id
	}
}

func (c *conditional[S]) end(id string) {
	if c.inElse {
		c.elseEnd = id
	} else {
		c.thenEnd = id
	}
}

// If starts a branch: the nodes that follow, up to Else or EndIf, run if cond holds. With nodes it
// is a complete conditional, which needs no EndIf; see the function [If] for more branches. cond
// must be pure; it is called once each time the if is reached.
func (b *Builder[S]) If(cond func(View[S]) bool, then ...Node[S]) *Builder[S] {
	if len(then) > 0 {
		IfConfig[S]{Condition: cond, Then: then}.addTo(b, caller())
		return b
	}
	b.begin(caller(), cond)
	return b
}

func (b *Builder[S]) begin(at diag.Span, cond func(View[S]) bool) bool {
	// a branch may start with a decision
	if first := b.inside && b.start == "" && len(b.open) == 0; b.current == "" && !first {
		b.problem(at, "if-without-node", "Cannot use If without a preceding node. Use Start first.")
		return false
	}
	b.decide(at, cond)
	return true
}

// decide starts a branch at the current position of the flow.
func (b *Builder[S]) decide(at diag.Span, cond func(View[S]) bool) {
	d := &def[S]{id: b.generated("decision"), typ: TypeDecision, shape: shapeIf, cond: cond}
	if cond == nil {
		d.problem = problemf("Decision %q requires a condition", d.id)
	}
	b.then(at, d)
	b.open = append(b.open, &conditional[S]{decision: d.id, at: at})
	b.current = ""
}

// Else starts the nodes that run if the condition of the open if does not hold.
func (b *Builder[S]) Else() *Builder[S] {
	b.otherwise(caller())
	return b
}

func (b *Builder[S]) otherwise(at diag.Span) {
	if len(b.open) == 0 {
		b.problem(at, "else-without-if", "Cannot use Else without a preceding If")
		return
	}
	c := b.open[len(b.open)-1]
	if c.inElse {
		b.problem(at, "second-else", "Already in else branch. Use EndIf to close.")
		return
	}
	c.end(b.current)
	c.inElse = true
	b.current = ""
}

// EndIf closes the open if: both branches meet in one node. A branch without nodes leads there
// directly.
func (b *Builder[S]) EndIf() *Builder[S] {
	b.endIf(caller())
	return b
}

func (b *Builder[S]) endIf(at diag.Span) {
	if len(b.open) == 0 {
		b.problem(at, "endif-without-if", "Cannot use EndIf without a preceding If")
		return
	}
	c := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	c.end(b.current)
	merge, ok := b.add(at, &def[S]{id: b.generated("merge"), typ: TypeDecision, shape: shapePass})
	if !ok {
		return
	}
	b.connect(at, c.decision, labelTrue, orElse(c.thenBegin, merge.id), labelTrue)
	b.connect(at, c.decision, labelFalse, orElse(c.elseBegin, merge.id), labelFalse)
	for _, end := range []string{c.thenEnd, c.elseEnd} {
		if end != "" {
			b.current = end
			b.attach(at, merge.id)
		}
	}
	b.current = merge.id
}

func orElse(id, other string) string {
	if id == "" {
		return other
	}
	return id
}

// IfConfig is a complete conditional, as a node.
type IfConfig[S any] struct {
	Condition func(View[S]) bool
	Then      []Node[S]
	// ElseIf holds conditions that are evaluated in order if Condition does not hold.
	ElseIf []ElseIf[S]
	Else   []Node[S]
}

// ElseIf is a further condition of an IfConfig with its nodes.
type ElseIf[S any] struct {
	Condition func(View[S]) bool
	Then      []Node[S]
}

// addTo adds the complete conditional. Each else-if is an if inside the previous else branch.
func (c IfConfig[S]) addTo(b *Builder[S], at diag.Span) {
	b.decide(at, c.Condition)
	b.conditional(at, c)
}

// conditional adds what follows the decision of an open if, and closes it.
func (b *Builder[S]) conditional(at diag.Span, c IfConfig[S]) {
	open := 1
	for _, n := range c.Then {
		b.then(at, n)
	}
	for _, e := range c.ElseIf {
		b.otherwise(at)
		b.then(at, &def[S]{id: b.generated("pass"), typ: TypeDecision, shape: shapePass})
		if b.begin(at, e.Condition) {
			open++
		}
		for _, n := range e.Then {
			b.then(at, n)
		}
	}
	if len(c.Else) > 0 {
		b.otherwise(at)
		for _, n := range c.Else {
			b.then(at, n)
		}
	}
	for range open {
		b.endIf(at)
	}
}

// defaultIterations is the default limit on the iterations of a loop.
const defaultIterations = 100

// LoopConfig specifies when a loop ends. The body always runs at least once.
type LoopConfig[S any] struct {
	// Until ends the loop if it holds after the body; nil never does. It must be pure.
	Until func(View[S]) bool
	// Body holds the repeated nodes of a loop that is a node; [Builder.Loop] accepts them as
	// arguments.
	Body []Node[S]
	// MaxIterations ends the loop after that many iterations; 0 means 100, [Zero] and 1 mean one
	// iteration.
	MaxIterations int
}

// loop is shared by both nodes of a loop.
type loop[S any] struct {
	until   func(View[S]) bool
	most    int
	counter string // field that counts finished iterations
}

// again reports whether the loop continues.
func (l *loop[S]) again(v View[S]) bool {
	if v.fields != nil && passes(v.fields, l.counter) >= l.most {
		return false
	}
	return l.until == nil || !l.until(v)
}

// Loop repeats a sequence of nodes. The node that follows runs once, when the loop has ended. The
// number of finished iterations is stored in the outputs under `<loop_start id>_iteration`; it is
// reset to 0 each time the loop is entered.
func (b *Builder[S]) Loop(c LoopConfig[S], body ...Node[S]) *Builder[S] {
	c.Body = append(slices.Clip(c.Body), body...)
	c.addTo(b, caller())
	return b
}

func (c LoopConfig[S]) addTo(b *Builder[S], at diag.Span) {
	if len(c.Body) == 0 {
		b.problem(at, "empty-loop", "Loop body must contain at least one node")
		return
	}
	start, check := b.generated("loop_start"), b.generated("loop_check")
	l := &loop[S]{until: c.Until, most: defaultIterations, counter: outputsPrefix + start + "_iteration"}
	if isSet, most := numberSetting(c.MaxIterations); isSet {
		if l.most = most; most < 0 {
			b.problem(at, "negative-limit", "Loop %q: MaxIterations must not be negative", start)
		}
	}
	b.then(at, &def[S]{id: start, typ: TypeDecision, shape: shapeLoopStart, loop: l})
	for _, n := range c.Body {
		b.then(at, n)
	}
	first := ""
	for _, e := range b.edges {
		if e.From == start {
			first = e.To
		}
	}
	b.then(at, &def[S]{id: check, typ: TypeDecision, shape: shapeLoopCheck, loop: l})
	if first != "" {
		b.connect(at, check, labelContinue, first, labelContinue)
	}
}
