package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/workflow"
)

// buildWorkflow parses the small language of transcripts. Its directive contains the limits and
// rules; each line is a node (`KIND ID key=value…`), an agent without a node (`helper ID`), a
// prompt (`prompt NODE TEXT`), an edge as parsed by [enginetest.Graph], or a sub-flow: `flow NAME`,
// or `typedflow NAME` if it has a state of its own, followed by its lines up to `done`. The first
// node is the entry.
func buildWorkflow(t *testing.T, d *datadriven.TestData) *workflow.Workflow {
	t.Helper()
	lines := strings.Split(d.Input, "\n")
	w := readFlow(t, d, &lines)
	w.Limits = limits(t, d)
	if _, typed := argument(d, "typed"); typed {
		w.Rules = workflow.TypedRules()
	}
	_, w.Rules.Serial = argument(d, "serial")
	_, w.Rules.HoldWhilePaused = argument(d, "hold")
	_, w.Rules.SharedConversation = argument(d, "shared")
	_, w.Rules.Conversational = argument(d, "conversational")
	w.Rules.Handoff = stringOf(d, "handoff")
	if _, ok := argument(d, "drain"); ok {
		w.Rules.OnFailure = workflow.FailDrain
	}
	if a, ok := argument(d, "reducers"); ok { // reducers=(field:append, …)
		w.Rules.Reducers = map[string]string{}
		for _, v := range a.Vals {
			field, reducer, _ := strings.Cut(v, ":")
			w.Rules.Reducers[field] = reducer
		}
	}
	if problems := workflow.Validate(w); problems.HasErrors() {
		d.Fatalf(t, "%v", problems)
	}
	return w
}

func readFlow(t *testing.T, d *datadriven.TestData, lines *[]string) *workflow.Workflow {
	t.Helper()
	var nodes []workflow.Node
	var agents []workflow.Agent
	var edges []string
	flows := map[string]*workflow.Workflow{}
	for len(*lines) > 0 {
		line := strings.TrimSpace((*lines)[0])
		*lines = (*lines)[1:]
		if strings.Contains(line, "->") || strings.Contains(line, "=>") {
			edges = append(edges, line)
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		if kind == "done" {
			break
		}
		switch kind {
		case "prompt":
			node, text, _ := strings.Cut(rest, " ")
			for i := range nodes {
				if nodes[i].ID == node {
					nodes[i].Agent.Prompt.Text = text
				}
			}
			continue
		case "flow", "typedflow":
			flows[rest] = readFlow(t, d, lines)
			if kind == "typedflow" {
				flows[rest].Rules = workflow.TypedRules()
			}
			continue
		}
		kind, args, err := datadriven.ParseLine(line)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		def := &datadriven.TestData{Pos: d.Pos, Cmd: kind, CmdArgs: args}
		if kind == "agent" || kind == "helper" {
			agents = append(agents, readAgent(t, def))
		}
		nodes = append(nodes, readNode(t, def)...)
	}
	w := enginetest.Graph(nodes, strings.Join(edges, "\n"), agents...)
	if len(flows) > 0 {
		w.Flows = flows
	}
	return w
}

// readAgent parses an agent: model, fallbacks, sub-agents, hand-offs, limits, and `json` for an
// agent that must answer with an object that has a number n.
func readAgent(t *testing.T, d *datadriven.TestData) workflow.Agent {
	t.Helper()
	a := workflow.Agent{ID: d.CmdArgs[0].Key, Model: stringOf(d, "model"), MaxTurns: int(number(t, d, "turns")),
		NoProgress: int(number(t, d, "no_progress"))}
	list := func(key string) []string {
		x, _ := argument(d, key)
		return x.Vals
	}
	a.Fallbacks, a.Handoffs = list("fallback"), list("handoff")
	for _, sub := range list("subagent") {
		a.Subagents = append(a.Subagents, workflow.Subagent{Agent: sub, Tool: sub})
	}
	if n := number(t, d, "compact"); n > 0 {
		a.Compaction = &workflow.Compaction{Tokens: n, Keep: 1}
	}
	if n := number(t, d, "max_output"); n > 0 {
		a.Params.MaxTokens = &n
	}
	if _, ok := argument(d, "reports"); ok {
		a.SubagentFailure = workflow.SubagentReports
	}
	if _, ok := argument(d, "json"); ok {
		a.Output = &workflow.Output{
			Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		}
	}
	return a
}

// readNode parses a node; a fork is two nodes, itself and its join `ID/join`.
func readNode(t *testing.T, d *datadriven.TestData) []workflow.Node {
	t.Helper()
	id := d.CmdArgs[0].Key
	n := workflow.Node{ID: id, Kind: workflow.Kind(d.Cmd)}
	switch d.Cmd {
	case "helper":
		return nil
	case "start", "end", "exec":
	case "agent":
		n = enginetest.Agent(id)
		if routes, ok := argument(d, "routes"); ok { // an agent of a shared conversation, which selects its successor
			n.Agent.Prompt.Mode, n.Agent.Routing = workflow.PromptShared,
				&workflow.Routing{Tool: "route_to", Values: routes.Vals}
		}
	case "tool":
		n.Tool = &workflow.ToolNode{Tool: id}
	case "func":
		n.Func = &workflow.FuncNode{Func: id}
	case "decide": // PORT=TEXT fires PORT if the input contains TEXT
		n.Decide = &workflow.Decide{Else: stringOf(d, "else")}
		for _, a := range d.CmdArgs[1:] {
			if a.Key != "else" && a.Key != "in" {
				n.Decide.Cases = append(n.Decide.Cases, workflow.Case{Port: a.Key,
					When: workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: a.Vals[0]}})
			}
		}
	case "approval":
		n = enginetest.Approval(id)
	case "question":
		n = enginetest.Question(id)
		_, n.Wait.Route = argument(d, "route")
	case "awaits": // a wait for the signal NAME; filter=TEXT accepts values containing TEXT
		n.Kind, n.Wait = workflow.KindWait, &workflow.Wait{Kind: workflow.WaitSignal, Await: stringOf(d, "signal")}
		if text := stringOf(d, "filter"); text != "" {
			n.Wait.Filter = &workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: text}
		}
	case "join":
		n.Join = &workflow.Join{}
	case "subflow":
		n.Subflow = &workflow.Subflow{Flow: stringOf(d, "flow"), Input: stringOf(d, "state"),
			Mapper: stringOf(d, "state")}
	case "fork":
		branches, _ := argument(d, "branches")
		f := enginetest.Fork(id, workflow.Fork{
			Until: stringOf(d, "until"), Quorum: int(number(t, d, "quorum")), OnFailure: stringOf(d, "on_failure"),
			MaxConcurrency: int(number(t, d, "max")),
		}, branches.Vals...)
		common(t, d, &f[0])
		f[1].Parent = f[0].Parent
		return f
	default:
		d.Fatalf(t, "unknown kind of node %q", d.Cmd)
	}
	common(t, d, &n)
	return []workflow.Node{n}
}

// common parses what all nodes may have.
func common(t *testing.T, d *datadriven.TestData, n *workflow.Node) {
	t.Helper()
	n.Parent = stringOf(d, "in")
	if r := number(t, d, "retry"); r > 0 {
		n.Retry = &workflow.Retry{MaxRetries: int(r)}
		if v := stringOf(d, "delay"); v != "" {
			n.Retry.Delay, n.Retry.Multiplier = workflow.Duration(duration(t, d, v)), 2
		}
	}
	if b := (workflow.Budget{MaxTokens: number(t, d, "tokens"), MaxCalls: number(t, d, "calls")}); b.Bounds() {
		n.Budget = &b
	}
	if v := stringOf(d, "timeout"); v != "" {
		n.Timeout = workflow.Duration(duration(t, d, v))
	}
	if v := stringOf(d, "callTimeout"); v != "" {
		n.CallTimeout = workflow.Duration(duration(t, d, v))
	}
	if n.Wait != nil {
		if v := stringOf(d, "deadline"); v != "" {
			n.Wait.Deadline = workflow.Duration(duration(t, d, v))
		}
		if v := stringOf(d, "remind"); v != "" {
			n.Wait.Remind = workflow.Duration(duration(t, d, v))
		}
	}
}
