package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

func (c *checker) checkNode(n *Node) {
	own, known := kindOf(n.Kind)
	switch {
	case !known:
		c.nodeErrorf(n, "unknown-kind", "unknown kind %q", n.Kind)
	case own.spec != nil && !own.optional && !own.spec(n):
		c.nodeErrorf(n, "missing-spec", "is of kind %s and has no settings for it", n.Kind)
	}
	for _, k := range kinds {
		if k.kind != n.Kind && k.spec != nil && k.spec(n) {
			c.nodeErrorf(n, "foreign-spec", "is of kind %s and holds the specification of a node of kind %s", n.Kind,
				k.kind)
		}
	}
	c.checkTimes(n, own.calls)
	if b := n.Budget; b != nil {
		if !own.calls {
			c.nodeErrorf(n, "foreign-spec", "is of kind %s, which calls no models and tools, and has a budget", n.Kind)
		}
		c.negative(n, b.MaxTokens < 0, "budget.maxTokens")
		c.negative(n, isInvalidNumber(b.MaxCostUSD), "budget.maxCostUSD")
		c.negative(n, b.MaxCalls < 0, "budget.maxCalls")
		if !isUncounted(b.Uncounted) {
			c.nodeErrorf(n, "unknown-word", "budget.uncounted is %q, not one of %s, %s", b.Uncounted, UncountedRefuse,
				UncountedAllow)
		}
	}
	if r := n.Retry; r != nil {
		c.negative(n, r.MaxRetries < 0, "retry.maxRetries")
		c.negative(n, r.Delay < 0, "retry.delay")
		c.negative(n, isInvalidNumber(r.Multiplier), "retry.multiplier")
	}
	c.checkPolicies(n)
	if own.check != nil && own.spec(n) {
		own.check(c, n)
	}
}

// checkTimes checks the time limits of a node; works is set if its kind does work.
func (c *checker) checkTimes(n *Node, works bool) {
	for _, t := range []struct {
		name string
		d    Duration
	}{{"timeout", n.Timeout}, {"callTimeout", n.CallTimeout}} {
		c.negative(n, t.d < 0, t.name)
		if t.d > 0 && !works {
			c.nodeErrorf(n, "foreign-spec", "is of kind %s, which does no work that could take long, and has a %s",
				n.Kind, t.name)
		}
	}
}

func (c *checker) checkAgentNode(n *Node) {
	a := n.Agent
	if c.agents[a.Agent] == nil {
		c.nodeErrorf(n, "unknown-agent", "agent %q is not defined", a.Agent).Hint = c.similar(a.Agent, c.agentIDs)
	}
	c.oneOf(n, "prompt.mode", string(a.Prompt.Mode), string(PromptTemplate), string(PromptContext), string(PromptTurns),
		string(PromptShared), string(PromptFunc))
	if a.Prompt.Mode == PromptFunc {
		c.required(n, a.Prompt.Text, "prompt.text")
	}
	if p := a.Prompt; p.Expressions && p.Mode != PromptTemplate && p.Mode != PromptTurns {
		c.nodeErrorf(n, "foreign-spec", "has a prompt of mode %s, which cannot hold expressions", p.Mode)
	}
	if r := a.Routing; r != nil && (slices.Contains(r.Values, "") || slices.Contains(r.Calls, "")) {
		c.nodeErrorf(n, "empty-port", "a routing value is empty")
	}
}

func (c *checker) checkTool(n *Node) {
	c.required(n, n.Tool.Tool, "tool")
	if len(n.Tool.Args) > 0 && !isObject(n.Tool.Args) {
		c.nodeErrorf(n, "bad-json", "args must be a JSON object")
	}
	if n.Tool.Workflow == "" {
		return
	}
	if _, ok := ParseCall(n.Tool.Workflow); !ok || n.Tool.Tool != CallTool(n.Tool.Workflow) {
		c.nodeErrorf(n, "bad-value", "%q names no workflow: write ID, ID@VERSION or ./FILE", n.Tool.Workflow)
	}
}

func (c *checker) checkFunc(n *Node) { c.required(n, n.Func.Func, "func") }

func (c *checker) checkWait(n *Node) {
	c.oneOf(n, "wait.kind", n.Wait.Kind, WaitApproval, WaitQuestion, WaitSignal)
	c.negative(n, n.Wait.Deadline < 0, "wait.deadline")
	c.negative(n, n.Wait.Remind < 0, "wait.remind")
	c.oneOf(n, "wait.onDeadline", n.Wait.OnDeadline, "", PortApprove, PortReject)
	c.validJSON(n, n.Wait.Schema, "wait.schema", false)
	c.validJSON(n, n.Wait.Default, "wait.default", false)
	c.checkRoles(n)
	switch w := n.Wait; {
	case w.Kind != WaitSignal:
		if w.Await != "" || w.Filter != nil {
			c.nodeErrorf(n, "bad-value", "it is a wait of kind %s and has settings of signals", w.Kind)
		}
	case !SignalName(w.Await):
		c.nodeErrorf(n, "bad-value", "wait.await is %q; the name of a signal has letters, digits, `.`, `_` and `-`, "+
			"at most %d", w.Await, MaxSignalName)
	case len(w.Options) > 0 || w.Route || w.AutoApprove || w.FailReject || w.OnDeadline != "":
		c.nodeErrorf(n, "bad-value", "it waits for a signal and has settings of questions")
	case w.Filter != nil:
		if msg := badCondition(*w.Filter); msg != "" {
			c.nodeErrorf(n, "bad-condition", "its filter %s", msg)
		}
	}
}

func (c *checker) checkRoles(n *Node) {
	roles := n.Wait.Roles
	switch {
	case len(roles) == 0:
	case n.Wait.Kind == WaitSignal:
		c.nodeErrorf(n, "bad-value", "it waits for a signal, which has no roles")
	case n.Wait.AutoApprove:
		c.nodeErrorf(n, "bad-value", "it has roles and answers itself")
	case len(roles) > MaxRoles:
		c.nodeErrorf(n, "bad-value", "it has %d roles, and at most %d are allowed", len(roles), MaxRoles)
	}
	for i, r := range roles {
		if r == "" || r != strings.TrimSpace(r) || len(r) > MaxRoleSize {
			c.nodeErrorf(n, "bad-value", "wait.roles[%d] is %q; a role has 1 to %d bytes, without whitespace around it",
				i, r, MaxRoleSize)
		}
	}
}

func (c *checker) checkSet(n *Node) { c.validJSON(n, n.Set.Value, "set.value", true) }

func (c *checker) checkSleep(n *Node) {
	switch s := n.Sleep; {
	case (s.For == "") == (s.Until == ""):
		c.nodeErrorf(n, "bad-value", "it needs either for or until")
	case s.For != "" && !strings.Contains(s.For, "{{"):
		if _, err := ParseDuration(s.For); err != nil {
			c.nodeErrorf(n, "bad-value", "for: %v", err)
		}
	case s.Until != "" && !strings.Contains(s.Until, "{{"):
		if _, err := time.Parse(time.RFC3339, s.Until); err != nil {
			c.nodeErrorf(n, "bad-value", "until: %q is not a time such as 2026-05-01T09:00:00Z", s.Until)
		}
	}
}

func (c *checker) checkEnd(n *Node) {
	c.oneOf(n, "end.status", n.End.Status, "", EndCompleted, EndFailed)
	c.validJSON(n, n.End.Output, "end.output", false)
}

// checkPolicies checks the settings that nodes of all kinds may have.
func (c *checker) checkPolicies(n *Node) {
	if n.If != nil {
		if msg := badCondition(*n.If); msg != "" {
			c.nodeErrorf(n, "bad-condition", "its if %s", msg)
		}
	}
	if k := n.Catch; k != nil {
		c.oneOf(n, "catch.port", k.Port, PortOut, PortError)
		c.validJSON(n, k.Default, "catch.default", false)
	}
}

func (c *checker) checkSubflow(n *Node) {
	if f := c.w.Flows[n.Subflow.Flow]; f != nil && !f.Rules.StateFlows && n.Subflow.Input+n.Subflow.Mapper != "" {
		c.nodeErrorf(n, "untyped-flow", "maps states, but flow %q has no typed state", n.Subflow.Flow)
	}
}

func (c *checker) checkDecide(n *Node) {
	if len(n.Decide.Cases) == 0 && n.Decide.Else == "" {
		c.nodeErrorf(n, "decide-without-cases", "has neither a case nor an else")
	}
	for i, k := range n.Decide.Cases {
		if k.Port == "" {
			c.nodeErrorf(n, "empty-port", "case %d has no port", i)
		}
		if msg := badCondition(k.When); msg != "" {
			c.nodeErrorf(n, "bad-condition", "case %d %s", i, msg)
		}
	}
}

func (c *checker) checkAgents() {
	for i := range c.w.Agents {
		a := &c.w.Agents[i]
		tools := map[string]bool{}
		for _, s := range a.Subagents {
			switch {
			case s.Agent == a.ID:
				c.agentErrorf(a, "subagent-self", "cannot be a sub-agent of itself")
			case c.agents[s.Agent] == nil:
				c.agentErrorf(a, "unknown-agent", "sub-agent %q is not defined", s.Agent).Hint = c.similar(s.Agent,
					c.agentIDs)
			}
			switch {
			case s.Tool == "":
				c.agentErrorf(a, "subagent-tool", "sub-agent %q has no tool name", s.Agent)
			case tools[s.Tool]:
				c.agentErrorf(a, "subagent-tool", "two sub-agents share the tool name %q", s.Tool)
			}
			tools[s.Tool] = true
		}
		c.checkHandoffs(a, tools)
		c.checkTexts(a)
		c.agentWord(a, "subagentFailure", a.SubagentFailure, SubagentFails, SubagentReports)
		c.agentWord(a, "toolCalls", a.ToolCalls, ToolCallsOrdered, ToolCallsParallel)
		c.agentNegative(a, a.MaxTurns < 0, "maxTurns")
		c.agentNegative(a, a.NoProgress < 0, "noProgress")
		c.agentNegative(a, a.FallbackCooldown < 0, "fallbackCooldown")
		c.checkRetries(a)
		if k := a.Compaction; k != nil {
			c.checkCompaction(a, k)
		}
		for _, t := range a.Toolsets {
			if !json.Valid(t) {
				c.agentErrorf(a, "bad-json", "a toolset is not valid JSON")
			}
		}
		if o := a.Output; o != nil {
			c.agentNegative(a, o.Repairs != nil && *o.Repairs < 0, "output.repairs")
			if !json.Valid(o.Schema) {
				c.agentErrorf(a, "bad-json", "the schema of the output is not valid JSON")
			}
		}
		c.checkParams(a)
	}
}

// checkTexts checks the commands and files of an agent.
func (c *checker) checkTexts(a *Agent) {
	for _, name := range slices.Sorted(maps.Keys(a.Commands)) {
		if !isCommandName(name) {
			c.agentErrorf(a, "bad-command",
				"the command %q has an invalid name: it is empty, or contains a space or a slash", name)
		}
		if strings.TrimSpace(a.Commands[name].Instruction) == "" {
			c.agentErrorf(a, "bad-command", "the command %q has no instruction", name)
		}
	}
	for _, name := range a.PromptFiles {
		if !IsLocalName(name) {
			c.agentErrorf(a, "bad-file", "%q is not a valid name of a prompt file: it must be a path relative to the "+
				"document, without `..`", name)
		}
	}
}

// IsLocalName reports whether name is the name of a file inside a folder, on any system:
// slash-separated, neither empty nor absolute, without `..`, and without anything that Windows
// interprets as a location elsewhere.
func IsLocalName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return utf8.ValidString(name) && !strings.ContainsAny(name, "\\:\x00")
}

// isCommandName reports whether name is a valid name for a command.
func isCommandName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
}

// checkSubagentCycles reports each cycle of sub-agents once, at its first agent in the list.
func (c *checker) checkSubagentCycles() {
	const (
		unseen = iota
		open
		done
	)
	state := map[string]int{}
	var path []string
	var visit func(id string)
	visit = func(id string) {
		state[id] = open
		path = append(path, id)
		for _, s := range c.agents[id].Subagents {
			if s.Agent == id || c.agents[s.Agent] == nil {
				continue // reported by checkAgents
			}
			switch state[s.Agent] {
			case unseen:
				visit(s.Agent)
			case open:
				cycle := append(slices.Clone(path[slices.Index(path, s.Agent):]), s.Agent)
				c.agentErrorf(c.agents[s.Agent], "subagent-cycle", "sub-agents form a cycle: %s",
					strings.Join(cycle, " -> "))
			}
		}
		path = path[:len(path)-1]
		state[id] = done
	}
	for i := range c.w.Agents {
		if id := c.w.Agents[i].ID; state[id] == unseen {
			visit(id)
		}
	}
}
