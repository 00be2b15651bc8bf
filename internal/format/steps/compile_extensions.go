package steps

import (
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// policies sets when a step runs and what follows its failure, and returns the reader of its other
// texts.
func (c *compiler) policies(n *workflow.Node, s *step) *textReader {
	x := &textReader{r: c.reader, s: s}
	n.Timeout, n.CallTimeout = s.more.timeout, s.more.ofCalls
	n.If = x.condition(s.more.cond)
	n.Catch = s.more.onError.catch(x.value)
	return x
}

// extension adds a step of a type that is not in S4.
func (c *compiler) extension(s *step) []end {
	n := c.node(s, map[kind]workflow.Kind{
		toolStep: workflow.KindTool, workflowStep: workflow.KindTool, setStep: workflow.KindSet,
		endStep: workflow.KindEnd, sleepStep: workflow.KindSleep, approvalStep: workflow.KindWait,
		askStep:    workflow.KindWait,
		signalStep: workflow.KindWait,
	}[s.kind])
	x, e := c.policies(&n, s), &s.more
	open := []end{{node: s.node}}
	switch s.kind {
	case toolStep:
		n.Tool = &workflow.ToolNode{Tool: s.name, Args: []byte("{}")}
		if e.args.value != nil {
			n.Tool.Args = x.value(e.args)
		}
	case workflowStep:
		n.Tool = &workflow.ToolNode{Tool: workflow.CallTool(s.name), Workflow: s.name,
			Args: []byte(`{"input":` + previousInput + `}`)}
		if e.input.value != nil {
			n.Tool.Args = slices.Concat([]byte(`{"input":`), x.value(e.input), []byte("}"))
		}
	case setStep:
		n.Set = &workflow.SetNode{Value: x.value(e.values)}
	case endStep:
		n.End = &workflow.EndNode{Status: e.status, Output: x.value(e.output), Message: x.plain(e.message)}
		if n.If == nil {
			open = nil
		}
	case sleepStep:
		n.Sleep = &workflow.SleepNode{}
		if e.rest.key == "for" {
			n.Sleep.For = x.plain(e.rest)
		} else {
			n.Sleep.Until = x.plain(e.rest)
		}
		x.checkRest(n.Sleep)
	case approvalStep:
		n.Wait = &workflow.Wait{Kind: workflow.WaitApproval, FailReject: s.no.empty() && e.onReject != wordEnd}
		if open = []end{{s.node, workflow.PortApprove}}; n.If != nil || n.Catch != nil &&
			n.Catch.Port == workflow.PortOut {
			open = append(open, end{node: s.node})
		}
	case askStep:
		n.Wait = &workflow.Wait{Kind: workflow.WaitQuestion, Options: e.options, Schema: x.jsonSchema()}
	case signalStep:
		n.Wait = &workflow.Wait{Kind: workflow.WaitSignal, Await: e.signal, Schema: x.jsonSchema(),
			Filter: x.filter(e.filter)}
	}
	if w := n.Wait; w != nil {
		w.Template, w.Prompt, w.Deadline, w.Remind = true, x.plain(e.prompt), e.deadline, e.remind
		w.Roles = e.roles
		switch e.onLate.word {
		case workflow.PortApprove, workflow.PortReject:
			w.OnDeadline = e.onLate.word
		case wordDefault:
			w.Default = x.value(e.onLate.value)
		}
	}
	n.Reads = x.done(nil)
	c.add(n, s)
	if s.no != nil {
		// its end ends the run: what follows the approval requires approval
		c.flow(s.no, []end{{s.node, workflow.PortReject}})
	}
	c.limit(s)
	return open
}

// addMap adds a map with its body. The item ends where paths of the body end.
func (c *compiler) addMap(s *step) []end {
	n := c.node(s, workflow.KindMap)
	x, e := c.policies(&n, s), &s.more
	n.Map = &workflow.Map{Over: x.value(e.over), As: e.as, MaxConcurrency: e.atOnce, OnItemError: e.onItem}
	n.Reads = x.done(nil)
	for _, t := range slices.Backward(s.body.order) {
		if !t.broken && t.kind != jump {
			n.Map.Entry = t.node
		}
	}
	c.add(n, s)
	c.flow(s.body, nil)
	return []end{{node: s.node}}
}

// follows adds the edges that a failure or a deadline takes.
func (c *compiler) follows(root *list) {
	root.walk(func(s *step) {
		for _, f := range []struct {
			port string
			*follow
		}{{workflow.PortError, &s.more.onError}, {workflow.PortTimeout, &s.more.onLate}} {
			if f.target != nil && !s.broken && !f.target.broken {
				c.connect([]end{{s.node, f.port}}, f.target.node, s.isBehind(f.target), s)
			}
		}
	})
}

// checkRest reports an invalid duration or time that contains no expression.
func (x *textReader) checkRest(s *workflow.SleepNode) {
	f := x.s.more.rest
	if s.For != "" && !strings.Contains(s.For, "{{") {
		x.r.duration(f)
	}
	if _, err := time.Parse(time.RFC3339, s.Until); s.Until != "" && !strings.Contains(s.Until, "{{") && err != nil {
		x.r.diags.Errorf(f.value.Span, f.path, codeBadValue, "invalid time %q",
			s.Until).Hint = "write a time such as 2026-05-01T09:00:00Z"
	}
}

// previousInput is the input of a workflow step that declares none.
const previousInput = `"{{PREVIOUS_OUTPUT}}"`
