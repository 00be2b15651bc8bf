package conformance_test

import "fmt"

// xExpr is an expression of a random document: its source in the document, and its value by the
// rules.
type xExpr struct {
	op   string
	n    int
	of   *xStep // the step to read, or the map whose item to read
	a, b *xExpr
}

// text returns the CEL source.
func (e *xExpr) text() string {
	switch e.op {
	case "n":
		return fmt.Sprint(e.n)
	case "v":
		return e.of.ref() + ".output.v"
	case "has":
		return fmt.Sprintf("(has(%[1]s.output) ? %[1]s.output.v : %[2]d)", e.of.ref(), e.n)
	case "size":
		return fmt.Sprintf("(has(%[1]s.output) ? size(%[1]s.output) : %[2]d)", e.of.ref(), e.n)
	case "code":
		return fmt.Sprintf("(has(%[1]s.error) ? %[1]s.error.code + ' of ' + %[1]s.error.node : 'none')", e.of.ref())
	case "decision":
		return fmt.Sprintf("(has(%[1]s.decision) ? %[1]s.decision : 'none')", e.of.ref())
	case "item":
		return "$" + e.of.as()
	case "index":
		return "$" + e.of.as() + "_index"
	case "input":
		return "$input.n"
	case "signal":
		return "$signal.v"
	case "+":
		return e.a.text() + " + " + e.b.text()
	case ">":
		return e.a.text() + " > " + e.b.text()
	}
	panic(e.op)
}

// value evaluates the expression; ok is false if a reference has no value.
func (e *xExpr) value(s *xScope) (v any, ok bool) {
	switch e.op {
	case "n":
		return e.n, true
	case "v":
		if got := s.seen[e.of.id]; got != nil && got.done {
			return member(got.output)
		}
		return nil, false
	case "has":
		if got := s.seen[e.of.id]; got != nil && got.done {
			return member(got.output)
		}
		return e.n, true
	case "size":
		if got := s.seen[e.of.id]; got != nil && got.done {
			list, ok := got.output.([]any)
			return len(list), ok
		}
		return e.n, true
	case "code":
		if got := s.seen[e.of.id]; got != nil && got.fail != nil {
			return got.fail.code + " of " + got.fail.node, true
		}
		return "none", true
	case "decision":
		if got := s.seen[e.of.id]; got != nil && got.decision != "" {
			return got.decision, true
		}
		return "none", true
	case "item":
		return s.items[e.of.as()], true
	case "index":
		return s.items[e.of.as()+"_index"], true
	case "input":
		return s.run.input, true
	case "signal":
		return member(s.items["signal"])
	}
	a, ok := e.a.value(s)
	b, ok2 := e.b.value(s)
	x, isInt := a.(int)
	y, isInt2 := b.(int)
	if !ok || !ok2 || !isInt || !isInt2 {
		return nil, false
	}
	if e.op == ">" {
		return x > y, true
	}
	return x + y, true
}

func (e *xExpr) holds(s *xScope) (yes, ok bool) {
	v, ok := e.value(s)
	yes, isBool := v.(bool)
	return yes, ok && isBool
}

// member returns the member v of an output.
func member(output any) (any, bool) {
	m, ok := output.(map[string]any)
	if !ok {
		return nil, false
	}
	v, ok := m["v"]
	return v, ok
}

// xValue is a value with expressions: an expression, a string that contains one, or the input.
type xValue struct {
	expr     *xExpr
	around   bool
	previous bool
}

func (v xValue) text() any {
	switch {
	case v.previous:
		return "{{PREVIOUS_OUTPUT}}"
	case v.around:
		return "a{{ " + v.expr.text() + " }}b"
	case v.expr.op == "n":
		return v.expr.n
	}
	return "{{ " + v.expr.text() + " }}"
}

func (v xValue) value(s *xScope, previous any) (any, bool) {
	if v.previous {
		return previous, true
	}
	got, ok := v.expr.value(s)
	if ok && v.around {
		return fmt.Sprintf("a%vb", got), true
	}
	return got, ok
}

// valueTexts and valuesOf write and evaluate the members of an object.
func valueTexts(values map[string]xValue) map[string]any {
	out := map[string]any{}
	for k, v := range values {
		out[k] = v.text()
	}
	return out
}

func valuesOf(values map[string]xValue, s *xScope, previous any) (map[string]any, bool) {
	out := map[string]any{}
	for k, v := range values {
		got, ok := v.value(s, previous)
		if !ok {
			return nil, false
		}
		out[k] = got
	}
	return out, true
}
