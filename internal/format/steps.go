package format

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

// Steps is the name of the format of documents with agents and a list of steps.
const Steps = steps.Format

func stepsFormat() Format {
	return Format{
		Name: Steps, Title: "A workflow as steps: agents, and a list of steps", Page: "steps.md",
		Form:          "`agents` and a list of steps under `workflow`",
		Choose:        "a list of steps, written by hand; conditions, loops, parallel blocks",
		Usual:         []string{"open-port"}, // a missing branch continues with the next step, or ends the run (S4-38)
		NamesToolsets: true, Scheduled: true,
		RetryHint: "add `retry: {max_attempts: 3, backoff: exponential, on: [rate_limit, overloaded]}` to it",
		Detect:    steps.Detect, Write: steps.Write, Schema: steps.Schema,
		Read: func(root *source.Node, o Options) (*workflow.Workflow, diag.List) {
			return steps.Read(root, steps.Options{Agents: o.Agents, Toolsets: o.Toolsets, Providers: o.Providers,
				Servers: o.Servers, File: o.File})
		},
		adapt: (*adapter).toSteps, templates: true,
	}
}

// toSteps removes what steps documents cannot express and writes conditions as expressions.
func (a *adapter) toSteps() {
	w := a.w
	if w.ID != "" {
		a.changef("workflow", ChangeLost, "steps documents have none", "the id %q", w.ID)
	}
	if w.Name != "" {
		a.changef("workflow", ChangeLost, "steps documents have none", "the name %q", w.Name)
	}
	w.ID, w.Name = "", ""
	a.dropStart()
	a.plainRules(workflow.FailFast, false)
	a.turnsToContext()
	a.plainPrompts(true)
	a.replies(false, "")
	a.edgesPlain()
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Agent != nil && blank(n.Agent.Prompt) {
			n.Agent.Prompt.Text = previousOutput
		}
		if !strings.Contains(n.ID, "/") {
			a.rename(n, "")
		}
	}
	a.conditions()
	a.reorder()
}

// conditions names the ports of choices as conditions and switches do, and rewrites comparisons with
// the previous output as expressions over the step that produced that output.
func (a *adapter) conditions() {
	for i := range a.w.Nodes {
		n := &a.w.Nodes[i]
		if !chooses(*n) {
			continue
		}
		input := a.sourceStep(*n)
		compares := slices.ContainsFunc(n.Decide.Cases, func(c workflow.Case) bool {
			return c.When.Language == workflow.LangMatch
		})
		if compares && input == "" {
			continue
		}
		if len(n.Decide.Cases) == 1 {
			a.namePorts(n, func(int) string { return workflow.PortTrue }, workflow.PortFalse)
		} else {
			a.namePorts(n, steps.CasePort, steps.PortElse)
		}
		if !compares {
			continue
		}
		a.changef(lost.Node(n.ID), ChangeReworded, "conditions of steps documents are expressions",
			"the comparison with the previous output reads the output of %q", input)
		for j := range n.Decide.Cases {
			n.Decide.Cases[j].When = comparison(n.Decide.Cases[j].When, input)
		}
		n.Reads = append(slices.Clone(n.Reads), input)
		slices.Sort(n.Reads)
		n.Reads = slices.Compact(n.Reads)
	}
	a.settlePorts()
}

// namePorts names the ports of a choice. settlePorts completes it.
func (a *adapter) namePorts(n *workflow.Node, name func(int) string, otherwise string) {
	cases := slices.Clone(n.Decide.Cases)
	for i := range cases {
		port := name(i)
		a.moveEdges(n.ID, cases[i].Port, port)
		cases[i].Port = port
	}
	a.moveEdges(n.ID, n.Decide.Else, otherwise)
	n.Decide = &workflow.Decide{Cases: cases, Else: otherwise}
}

// movedPrefix marks a port that was assigned to an edge, until all edges of its node have theirs.
const movedPrefix = "\x00"

// settlePorts ends the assignment of ports.
func (a *adapter) settlePorts() {
	for i := range a.w.Edges {
		a.w.Edges[i].Port = strings.TrimPrefix(a.w.Edges[i].Port, movedPrefix)
	}
}

func (a *adapter) moveEdges(from, port, as string) {
	for i := range a.w.Edges {
		if e := &a.w.Edges[i]; e.From == from && e.PortName() == port {
			e.Port = movedPrefix + as
		}
	}
}

// sourceStep returns the only step whose output a node receives, or "" if that is uncertain.
func (a *adapter) sourceStep(n workflow.Node) string {
	in := a.entering(n.ID)
	if len(in) != 1 || cyclic(a.w) {
		return ""
	}
	from := a.w.Node(in[0].From)
	if from == nil || from.Agent == nil {
		return ""
	}
	return from.ID
}

// chooses reports whether a node has conditions that are expressions, or compare its input with
// numbers or ASCII strings, which an expression compares in the same way.
func chooses(n workflow.Node) bool {
	if n.Decide == nil || len(n.Decide.Cases) == 0 || n.Decide.Else == "" {
		return false
	}
	seen := map[string]bool{n.Decide.Else: true}
	for _, c := range n.Decide.Cases {
		if c.When.Language == workflow.LangFunc || seen[c.Port] || strings.TrimSpace(c.When.Text) == "" {
			return false
		}
		if _, ok := expr.Number(c.When.Text); c.When.Language == workflow.LangMatch &&
			expr.ComparesNumbers(c.When.Op) && !ok {
			return false
		}
		if c.When.Language == workflow.LangMatch && strings.ContainsFunc(c.When.Text,
			func(r rune) bool { return r > unicode.MaxASCII }) {
			return false
		}
		seen[c.Port] = true
	}
	return true
}

// comparison rewrites a comparison with the previous output as an expression over the output of a
// step.
func comparison(c workflow.Condition, step string) workflow.Condition {
	if c.Language != workflow.LangMatch {
		return c
	}
	operand := quoted(strings.ToLower(strings.TrimSpace(c.Text)))
	text := fmt.Sprintf("string({{ $steps.%s.output }}).trim().lowerAscii()", step)
	signs := map[string]string{expr.OpLess: "<", expr.OpLessOrEqual: "<=", expr.OpGreater: ">",
		expr.OpGreaterOrEqual: ">="}
	switch sign := signs[c.Op]; {
	case sign != "":
		text = fmt.Sprintf("double(string({{ $steps.%s.output }}).trim()) %s %s", step, sign, double(c.Text))
	case c.Op == expr.OpContains:
		text += ".contains(" + operand + ")"
	default:
		text += " == " + operand
	}
	return workflow.Condition{Language: workflow.LangExpr, Text: text}
}

// double returns a number as a literal of type double. As an integer, it could be too large for an
// expression.
func double(number string) string {
	v, _ := expr.Number(number)
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
