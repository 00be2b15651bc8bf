package workflow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Print returns w as text for debugging and golden tests: one fact per line, in the order of the
// definition, with names and strings quoted as in Go, and without zero values. Equal definitions
// print alike and different ones differently. The text cannot be parsed; [Workflow.Canonical]
// returns the form that is stored.
func Print(w *Workflow) string {
	var p printer
	p.workflow(w, map[*Workflow]bool{})
	return p.b.String()
}

// printer writes indented lines.
type printer struct {
	b     strings.Builder
	depth int
}

// line writes one line of words, leaving out empty words.
func (p *printer) line(words ...string) {
	p.b.WriteString(strings.Repeat("  ", p.depth))
	first := true
	for _, word := range words {
		if word == "" {
			continue
		}
		if !first {
			p.b.WriteByte(' ')
		}
		first = false
		p.b.WriteString(word)
	}
	p.b.WriteByte('\n')
}

// in writes the output of body indented one level deeper.
func (p *printer) in(body func()) {
	p.depth++
	body()
	p.depth--
}

func (p *printer) workflow(w *Workflow, above map[*Workflow]bool) {
	p.line("workflow", key("id", w.ID), key("name", w.Name), word("format", w.Format), word("entry", w.Entry),
		key("description", w.Description), key("version", w.Version))
	for _, k := range slices.Sorted(maps.Keys(w.Labels)) {
		p.line("label", ident(k), key("value", w.Labels[k]))
	}
	for _, s := range w.Schedules {
		p.line("schedule", word("id", s.ID), word("mode", s.Mode), key("spec", s.Spec), key("timeZone", s.TimeZone),
			raw("inputs", s.Inputs))
	}
	if c := w.Concurrency; c != nil {
		p.line("concurrency", key("key", c.Key), number("max", int64(c.Max)), word("ifBusy", c.IfBusy))
	}
	p.limits(w.Limits)
	p.rules(w.Rules)
	for _, name := range slices.Sorted(maps.Keys(w.Providers)) {
		v := w.Providers[name]
		p.line("provider", ident(name), key("kind", v.Kind), key("baseURL", v.BaseURL), key("keyEnv", v.KeyEnv),
			list("omit", v.Omit))
	}
	p.toolsets(w.Toolsets, w.Permissions)
	for _, in := range w.Inputs {
		words := []string{"input", ident(in.Name), raw("schema", in.Schema), flag("optional", in.Optional)}
		if f := in.File; f != nil {
			words = append(words, "file", list("mediaTypes", f.MediaTypes), number("maxBytes", f.MaxBytes))
		}
		p.line(words...)
	}
	p.facts([]string{"output", raw("value", w.Output), raw("schema", w.OutputSchema)})
	for i := range w.Agents {
		p.agent(&w.Agents[i])
	}
	for i := range w.Nodes {
		p.node(&w.Nodes[i])
	}
	for _, e := range w.Edges {
		p.edge(e)
	}
	above[w] = true
	for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
		flow := w.Flows[name]
		switch {
		case flow == nil:
			p.line("flow", ident(name), "empty")
		case above[flow]:
			p.line("flow", ident(name), "contains itself")
		default:
			p.line("flow", ident(name))
			p.in(func() { p.workflow(flow, above) })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Called)) {
		if sub := w.Called[name]; sub != nil && !above[sub] {
			p.line("called", quote(name))
			p.in(func() { p.workflow(sub, above) })
		}
	}
	for _, b := range w.Branches {
		switch {
		case b == nil:
			p.line("branch", "empty")
		case above[b]:
			p.line("branch", ident(b.ID), "contains itself")
		default:
			p.line("branch", ident(b.ID))
			p.in(func() { p.workflow(b, above) })
		}
	}
	delete(above, w)
}

func (p *printer) limits(l Limits) {
	words := []string{"limits"}
	words = append(words, pointer("maxSteps", l.MaxSteps), number("maxRounds", l.MaxRounds),
		number("maxLoopIterations", l.MaxLoopIterations), duration("timeout", l.Timeout),
		number("maxConcurrency", l.MaxConcurrency), number("maxTokens", l.MaxTokens),
		number("maxCostUSD", l.MaxCostUSD), number("maxCalls", l.MaxCalls), word("onBudget", l.OnBudget),
		word("uncounted", l.Uncounted),
		number("maxBytes", l.MaxBytes))
	p.facts(words)
}

func (p *printer) rules(r Rules) {
	p.facts([]string{"rules", word("onFailure", r.OnFailure), flag("holdWhilePaused", r.HoldWhilePaused),
		flag("sharedConversation", r.SharedConversation),
		flag("conversational", r.Conversational), flag("inputIsState", r.InputIsState),
		flag("stateFlows", r.StateFlows), flag("keepErrors", r.KeepErrors),
		flag("reportFailures", r.ReportFailures), flag("finishOnCancel", r.FinishOnCancel),
		flag("unknownFails", r.UnknownFails), flag("hideLosers", r.HideLosers),
		key("stepLimitText", r.StepLimitText), key("timeoutText", r.TimeoutText), flag("serial", r.Serial),
		raw("defaultInput", r.DefaultInput), key("handoff", r.Handoff)})
	for _, field := range slices.Sorted(maps.Keys(r.Reducers)) {
		p.line("reducer", ident(field), quote(r.Reducers[field]))
	}
}

// facts writes a line unless it has only one word.
func (p *printer) facts(words []string) {
	if slices.ContainsFunc(words[1:], func(s string) bool { return s != "" }) {
		p.line(words...)
	}
}

func (p *printer) edge(e Edge) {
	w := condition(e.When)
	if w != "" {
		w = "when " + w
	}
	p.line("edge", ident(e.From), word("port", e.Port), "->", ident(e.To), key("id", e.ID), w, flag("loop", e.Loop),
		key("label", e.Label))
}

func condition(c *Condition) string {
	if c == nil {
		return ""
	}
	var s strings.Builder
	s.WriteString(ident(c.Language))
	for _, part := range []string{word("op", c.Op), key("func", c.Func), key("text", c.Text)} {
		if part != "" {
			s.WriteString(" " + part)
		}
	}
	return s.String()
}

func quote(s string) string { return strconv.Quote(s) }

// ident returns plain words without quotes, and quotes everything else.
func ident(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return quote(s)
	}
	return s
}

func key(name, value string) string {
	if value == "" {
		return ""
	}
	return name + "=" + quote(value)
}

func word(name, value string) string {
	if value == "" {
		return ""
	}
	return name + "=" + ident(value)
}

func flag(name string, on bool) string {
	if !on {
		return ""
	}
	return name
}

func number[T int | int64 | float64](name string, v T) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%s=%v", name, v)
}

func pointer[T int | int64 | float64](name string, v *T) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%s=%v", name, *v)
}

func duration(name string, d Duration) string {
	if d == 0 {
		return ""
	}
	return name + "=" + time.Duration(d).String()
}

// raw returns JSON without white space, and invalid JSON as a quoted string.
func raw(name string, v json.RawMessage) string {
	if len(v) == 0 {
		return ""
	}
	var buf bytes.Buffer
	if json.Compact(&buf, v) != nil {
		return name + "=" + quote(string(v))
	}
	return name + "=" + buf.String()
}

func list(name string, values []string) string {
	if len(values) == 0 {
		return ""
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return name + "=[" + strings.Join(quoted, ", ") + "]"
}
