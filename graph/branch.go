package graph

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
)

// conditional is an if that is not closed yet.
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

// If begins a branch: what follows, up to Else or EndIf, runs where cond holds. With nodes it is a whole conditional, which needs no EndIf; see the function [If] for more
// branches. cond must be pure; it is called once each time.
func (b *Builder[S]) If(cond func(View[S]) bool, then ...Node[S]) *Builder[S] {
	if len(then) > 0 {
		IfConfig[S]{Condition: cond, Then: then}.put(b, caller())
		return b
	}
	b.begin(caller(), cond)
	return b
}

func (b *Builder[S]) begin(at diag.Span, cond func(View[S]) bool) bool {
	if first := b.inside && b.start == "" && len(b.open) == 0; b.current == "" && !first { // a branch may begin with a decision
		b.problem(at, "if-without-node", "Cannot use If without a preceding node. Use Start first.")
		return false
	}
	b.decide(at, cond)
	return true
}

// decide begins a branch wherever the flow is.
func (b *Builder[S]) decide(at diag.Span, cond func(View[S]) bool) {
	d := &def[S]{id: b.generated("decision"), typ: TypeDecision, shape: shapeIf, cond: cond}
	if cond == nil {
		d.problem = problemf("Decision %q requires a condition", d.id)
	}
	b.then(at, d)
	b.open = append(b.open, &conditional[S]{decision: d.id, at: at})
	b.current = ""
}

// Else begins what runs where the condition of the open if does not hold.
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

// EndIf closes the open if: both ways meet in one node. A branch without nodes leads there at once (S2-6, S2-77).
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

// IfConfig is a whole conditional, as a node.
type IfConfig[S any] struct {
	Condition func(View[S]) bool
	Then      []Node[S]
	// ElseIf are asked in order where Condition does not hold.
	ElseIf []ElseIf[S]
	Else   []Node[S]
}

// ElseIf is one more condition of an IfConfig with its nodes.
type ElseIf[S any] struct {
	Condition func(View[S]) bool
	Then      []Node[S]
}

// put adds the whole conditional. Each else-if is an if inside the else branch before it (S2-5).
func (c IfConfig[S]) put(b *Builder[S], at diag.Span) {
	b.decide(at, c.Condition)
	b.conditional(at, c)
}

// conditional adds what stands behind the decision of an if that has begun, and closes it.
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

// defaultIterations bounds loops that do not say otherwise (S2-20).
const defaultIterations = 100

// LoopConfig says when a loop ends. It always runs its body once (S2-21).
type LoopConfig[S any] struct {
	// Until ends the loop where it holds after the body; nil never does. It must be pure.
	Until func(View[S]) bool
	// Body is what is repeated, for a loop that is a node; [Builder.Loop] takes it as its arguments.
	Body []Node[S]
	// MaxIterations ends the loop after that many passes; 0 is defaultIterations, [Zero] and 1 are one pass.
	MaxIterations int
}

// loop is what both nodes of a loop know.
type loop[S any] struct {
	until   func(View[S]) bool
	most    int
	counter string // the field that counts finished passes
}

// Loop repeats nodes one after another. What follows runs once, when the loop has ended (S2-22). The count of finished passes is in the outputs
// under `<loop_start id>_iteration`; it begins at 0 each time the loop is entered.
func (b *Builder[S]) Loop(c LoopConfig[S], body ...Node[S]) *Builder[S] {
	c.Body = append(slices.Clip(c.Body), body...)
	c.put(b, caller())
	return b
}

func (c LoopConfig[S]) put(b *Builder[S], at diag.Span) {
	if len(c.Body) == 0 {
		b.problem(at, "empty-loop", "Loop body must contain at least one node")
		return
	}
	start, check := b.generated("loop_start"), b.generated("loop_check")
	l := &loop[S]{until: c.Until, most: defaultIterations, counter: outputsPrefix + start + "_iteration"}
	if said, most := amount(c.MaxIterations); said {
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
