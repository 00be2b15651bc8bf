package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/diag"
	_ "github.com/hocket-run/hocket/internal/randtest"
	. "github.com/hocket-run/hocket/workflow"
)

// word draws an ID from so few that references hit, miss, repeat and form cycles.
func word(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", "out", "x\"<y\n"}).Draw(t, label)
}

func maybe[T any](t *rapid.T, label string, v func() T) *T {
	if !rapid.Bool().Draw(t, label) {
		return nil
	}
	x := v()
	return &x
}

func genCondition(t *rapid.T) Condition {
	return Condition{
		Language: rapid.SampledFrom([]string{LangMatch, LangExpr, LangFunc, "?"}).Draw(t, "language"),
		Op:       word(t, "op"), Text: word(t, "text"), Func: word(t, "func"),
	}
}

func genNode(t *rapid.T) Node {
	n := Node{
		ID: word(t, "id"), Parent: word(t, "parent"), Hidden: rapid.Bool().Draw(t, "hidden"),
		Recovery: rapid.Bool().Draw(t, "recovery"),
		Kind: rapid.SampledFrom([]Kind{KindStart, KindAgent, KindTool, KindFunc, KindDecide, KindWait, KindFork,
			KindJoin, KindExec, KindSubflow, KindEnd, "?"}).Draw(t, "kind"),
	}
	small := rapid.IntRange(-1, 3)
	n.Agent = maybe(t, "agent", func() AgentNode {
		return AgentNode{Agent: word(t, "agent"), Prompt: Prompt{Mode: PromptMode(word(t, "mode")),
			Text: word(t, "text")},
			Routing: maybe(t, "routing", func() Routing {
				return Routing{Values: []string{word(t, "value")}, Else: word(t, "else")}
			})}
	})
	n.Tool = maybe(t, "tool", func() ToolNode {
		return ToolNode{Tool: word(t, "tool"), Args: json.RawMessage(`{"a":[1]}`)}
	})
	n.Func = maybe(t, "func", func() FuncNode { return FuncNode{Func: word(t, "func")} })
	n.Decide = maybe(t, "decide", func() Decide {
		d := Decide{Else: word(t, "else")}
		for range max(0, small.Draw(t, "cases")) {
			d.Cases = append(d.Cases, Case{Port: word(t, "port"), When: genCondition(t)})
		}
		return d
	})
	n.Wait = maybe(t, "wait", func() Wait {
		return Wait{Kind: rapid.SampledFrom([]string{WaitApproval, WaitQuestion, "?"}).Draw(t, "wait"),
			Deadline: Duration(small.Draw(t, "deadline"))}
	})
	n.Fork = maybe(t, "fork", func() Fork {
		f := Fork{Join: word(t, "join"), Until: rapid.SampledFrom([]string{"", UntilQuorum, "?"}).Draw(t, "until"),
			Quorum: small.Draw(t, "quorum")}
		for range max(0, small.Draw(t, "branches")) {
			f.Branches = append(f.Branches, Branch{ID: word(t, "branch")})
		}
		return f
	})
	n.Join = maybe(t, "join", func() Join { return Join{Fork: word(t, "fork")} })
	n.Subflow = maybe(t, "subflow", func() Subflow { return Subflow{Flow: word(t, "flow")} })
	for range max(0, small.Draw(t, "reads")) {
		n.Reads = append(n.Reads, word(t, "read"))
	}
	return n
}

func genWorkflow(t *rapid.T, depth int) *Workflow {
	w := &Workflow{Name: word(t, "name"), Entry: word(t, "entry"), Nodes: []Node{}, Edges: []Edge{}}
	for range rapid.IntRange(0, 8).Draw(t, "nodes") {
		w.Nodes = append(w.Nodes, genNode(t))
	}
	for range rapid.IntRange(0, 14).Draw(t, "edges") {
		e := Edge{From: word(t, "from"), Port: word(t, "port"), To: word(t, "to"), Loop: rapid.Bool().Draw(t, "loop")}
		e.When = maybe(t, "when", func() Condition { return genCondition(t) })
		w.Edges = append(w.Edges, e)
	}
	for range rapid.IntRange(0, 4).Draw(t, "agents") {
		a := Agent{ID: word(t, "id"), MaxTurns: rapid.IntRange(-1, 2).Draw(t, "turns")}
		for range rapid.IntRange(0, 2).Draw(t, "subagents") {
			a.Subagents = append(a.Subagents, Subagent{Agent: word(t, "agent"), Tool: word(t, "tool")})
		}
		w.Agents = append(w.Agents, a)
	}
	w.Limits.MaxRounds = rapid.IntRange(-1, 1).Draw(t, "rounds")
	w.Rules.Handoff = word(t, "handoff")
	if depth < 2 && rapid.IntRange(0, 3).Draw(t, "flow") == 0 {
		w.Flows = map[string]*Workflow{word(t, "name"): genWorkflow(t, depth+1)}
	}
	for range rapid.IntRange(-2, 2-2*depth).Draw(t, "branches") {
		b := genWorkflow(t, depth+1)
		b.ID = word(t, "branch")
		w.Branches = append(w.Branches, b)
	}
	return w
}

// TestRandomGraphs checks that whatever a workflow contains, Validate, Lint and Print return, Lint
// reports no errors, nothing changes the workflow, and Parse reads back the output of Canonical.
func TestRandomGraphs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := genWorkflow(t, 0)
		if rapid.IntRange(0, 9).Draw(t, "loop") == 0 {
			// A flow that contains its own workflow has no canonical form, but must still be
			// rejected.
			w.Flows = map[string]*Workflow{"self": w}
			if !Validate(w).HasErrors() {
				t.Fatal("a workflow that contains itself is accepted")
			}
			Lint(w)
			Print(w)
			return
		}
		before, err := w.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		text := Print(w)
		problems := Validate(w)
		for _, d := range Lint(w) {
			if d.Severity == diag.Error {
				t.Fatalf("Lint gave an error: %s", d)
			}
		}
		for _, d := range problems {
			if d.Severity != diag.Error || d.Code == "" || strings.ToLower(d.Code) != d.Code {
				t.Fatalf("Validate gave %s", d)
			}
		}
		back, err := Parse(before)
		if err != nil {
			t.Fatal(err)
		}
		after, err := back.Canonical()
		if err != nil || string(after) != string(before) {
			t.Fatalf("round trip: %v\n%s\n%s", err, before, after)
		}
		if got := Print(back); got != text {
			t.Fatalf("printed differently after the round trip:\n%s\n%s", text, got)
		}
	})
}

// TestParseRefuses checks that a definition that contains more than this version understands is
// rejected (P17).
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unknown field": `{"entry":"a","nodes":[],"edges":[],"colour":1}`,
		"cut off":       `{"entry":"a","nodes":[`,
		"bad duration":  `{"entry":"a","nodes":[],"edges":[],"limits":{"timeout":"soon"}}`,
		"more text":     `{"entry":"a","nodes":[],"edges":[]} {}`,
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
