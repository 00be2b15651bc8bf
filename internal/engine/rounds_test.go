package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// order returns the nodes that ran, in order, as one word.
func order(w *enginetest.World) string {
	var out []string
	for _, e := range w.Events {
		if _, ok := e.Data.(*event.StepStarted); ok {
			out = append(out, e.Node)
		}
	}
	return strings.Join(out, " ")
}

// TestMaxRounds checks that a round ends when the path returns to a node that ran in it, that
// rounds without a limit do not end the run, and that a chain ends at its last node (S1-10 to
// S1-15).
func TestMaxRounds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edges string
		max   int
		want  string
	}{
		"pair (S1-10)":                  {"a -> b; b -> a", 3, "a b a b a b"},
		"pair, ten rounds (S1-10)":      {"a -> b; b -> a", 10, strings.TrimSpace(strings.Repeat("a b ", 10))},
		"not through the first (S1-13)": {"a -> b; b -> c; c -> b", 3, "a b c b c b c"},
		"chain (S1-14)":                 {"a -> b; b -> c", 5, "a b c"},
		"alone with itself":             {"a -> a", 4, "a a a a"},
		"once":                          {"a -> b; b -> a", 1, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph(nodes("a", "b", "c"), tc.edges)
			g.Limits.MaxRounds = tc.max
			w := enginetest.New(t, g, nil)
			n := 0
			w.Model = func(c *engine.CallModel) *engine.ModelResult {
				n++
				return enginetest.Reply(fmt.Sprintf("%s%d", c.Node, n))
			}
			w.Start("go")
			w.Go(nil)
			wantStatus(t, w, event.StatusCompleted)
			if got := order(w); got != tc.want {
				t.Errorf("ran %s, want %s", got, tc.want)
			}
			ran := strings.Fields(tc.want)
			if got, want := string(w.Run.Output()), fmt.Sprintf(`"%s%d"`, ran[len(ran)-1], len(ran)); got != want {
				t.Errorf("output %s, want %s: the last node's (S1-15)", got, want)
			}
			rounds := 0
			for _, e := range w.Events {
				if d, ok := e.Data.(*event.LimitReached); ok && d.Limit == "max_rounds" {
					rounds++
					if d.Detail != fmt.Sprint(rounds) || d.Max != int64(tc.max) {
						t.Errorf("end of round %d: %+v", rounds, d)
					}
				}
			}
			if !strings.HasPrefix(name, "chain") && rounds != tc.max {
				t.Errorf("%d rounds ended, want %d", rounds, tc.max)
			}
			w.CheckPrefixes()
		})
	}
}

// TestMaxRoundsAndSteps checks that completed rounds need no further step, so that a step limit of
// exactly as many steps as they take does not fail them; one step less does, and the reopened run
// continues in the round it was in.
func TestMaxRoundsAndSteps(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes("a", "b"), "a -> b; b -> a")
	g.Limits.MaxRounds = 3
	for steps := range 7 {
		g.Limits.MaxSteps = &steps
		w := enginetest.New(t, g, nil)
		w.Model = answer
		w.Start("go")
		w.Go(nil)
		if steps < 6 {
			wantStatus(t, w, event.StatusFailed)
			more := 6
			w.Feed(engine.Reopen{Limits: workflow.Limits{MaxSteps: &more}})
			w.Go(nil)
		}
		wantStatus(t, w, event.StatusCompleted)
		if got := order(w); got != "a b a b a b" {
			t.Errorf("with %d steps at first ran %s", steps, got)
		}
		w.CheckPrefixes()
	}
}

// TestNoNodes checks that a workflow without nodes completes immediately, without output (S1-7).
func TestNoNodes(t *testing.T) {
	t.Parallel()
	w := enginetest.New(t, &workflow.Workflow{}, nil)
	w.Start("go")
	wantStatus(t, w, event.StatusCompleted)
	if got := order(w); got != "" {
		t.Errorf("ran %s", got)
	}
	if got := w.Run.Output(); got != nil {
		t.Errorf("output %s, want none", got)
	}
	w.CheckPrefixes()
}

// TestMaxRoundsAndSubflow checks that only nodes of the run's own graph count for rounds, not nodes
// of a sub-flow with the same index in another list.
func TestMaxRoundsAndSubflow(t *testing.T) {
	t.Parallel()
	sub := workflow.Node{ID: "s", Kind: workflow.KindSubflow, Subflow: &workflow.Subflow{Flow: "f"}}
	g := enginetest.Graph(nodes("a", sub, "c"), "a -> s; s -> c")
	g.Flows = map[string]*workflow.Workflow{"f": enginetest.Graph(nodes("x", "y", "z"), "x -> y; y -> z")}
	g.Limits.MaxRounds = 1
	w := enginetest.New(t, g, nil)
	w.Model = answer
	w.Start("go")
	w.Go(nil)
	wantStatus(t, w, event.StatusCompleted)
	if got := order(w); got != "a s s/x s/y s/z c" {
		t.Errorf("ran %s", got)
	}
}

// TestPromptTurns checks the turn instruction, the last twelve turns and the last output; without
// any of them the prompt is `Execute your task.` (S1-3).
func TestPromptTurns(t *testing.T) {
	t.Parallel()
	turns := func(id, agent, text string) workflow.Node {
		return workflow.Node{ID: id, Kind: workflow.KindAgent,
			Agent: &workflow.AgentNode{Agent: agent, Prompt: workflow.Prompt{Mode: workflow.PromptTurns, Text: text}}}
	}
	g := enginetest.Graph([]workflow.Node{turns("n1", "x", ""), turns("n2", "y", "Be brief.")}, "n1 -> n2; n2 -> n1",
		workflow.Agent{ID: "x", Name: "Ann"}, workflow.Agent{ID: "y", Name: "Bob"})
	g.Limits.MaxRounds = 8
	w := enginetest.New(t, g, nil)
	w.Start("")
	prompt := func() string { return w.Pending[0].(*engine.CallModel).Messages[0].Text.String() }
	if got := prompt(); got != "Execute your task." {
		t.Errorf("first prompt %q", got)
	}
	w.FinishAt(0, enginetest.Say("hello"))
	if got, want := prompt(), "Be brief.\n\nRecent turns:\nAnn: hello\n\nOutput from Ann:\nhello"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for i := 2; i <= 15; i++ {
		w.FinishAt(0, enginetest.Say("turn %d", i))
	}
	var lines []string
	for i := 4; i <= 15; i++ {
		lines = append(lines, fmt.Sprintf("%s: turn %d", []string{"Bob", "Ann"}[i%2], i))
	}
	if got, want := prompt(), "Be brief.\n\nRecent turns:\n"+strings.Join(lines, "\n")+
		"\n\nOutput from Ann:\nturn 15"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	w = enginetest.New(t, g, nil)
	w.Start("the task")
	if got := prompt(); got != "the task" {
		t.Errorf("first prompt with an input %q", got)
	}
}

// TestGuards checks that guards on edges see the step as it ended, that a guard that cannot be
// evaluated fails the step, and that First takes the first edge that holds (S1-4).
func TestGuards(t *testing.T) {
	t.Parallel()
	match := func(text string) *workflow.Condition {
		return &workflow.Condition{Language: workflow.LangMatch, Op: "contains", Text: text}
	}
	expr := func(text string) *workflow.Condition {
		return &workflow.Condition{Language: workflow.LangExpr, Text: text}
	}
	fn := &workflow.Condition{Language: workflow.LangFunc, Func: "ask"}
	for name, tc := range map[string]struct {
		b, c  *workflow.Condition
		first bool
		reply string
		want  string
	}{
		"both hold":          {match("x"), nil, false, "x", "a b c"},
		"first takes one":    {match("x"), nil, true, "x", "a b"},
		"first goes on":      {match("x"), nil, true, "y", "a c"},
		"none holds":         {match("x"), match("x"), false, "y", "a"},
		"expression":         {expr(`{{ $steps.a.output }}`), nil, true, "true", "a b"},
		"expression, no":     {expr(`{{ $steps.a.output }}`), nil, true, "false", "a c"},
		"path of the output": {expr(`{{ $steps.a.output.ok }}`), nil, true, `{"ok": true}`, "a b"},
		"function":           {fn, nil, true, "yes", "a b"},
		"function, no":       {fn, nil, true, "no", "a c"},
		"cannot be answered": {expr(`{{ $steps.a.output }}`), nil, true, "perhaps", "failed condition"},
		"function fails":     {fn, nil, true, "fail", "failed condition"},
		"function panics":    {fn, nil, true, "panic", "failed condition"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph(nodes("a", "b", "c"), "a -> b; a -> c")
			g.Edges[0].When, g.Edges[1].When, g.Nodes[0].First = tc.b, tc.c, tc.first
			h := &host{condition: func(fn string, v engine.View) (bool, error) {
				switch out := string(v.Outputs()["a"]); out {
				case `"fail"`:
					return false, errors.New("no idea")
				case `"panic"`:
					panic("oops")
				default:
					return out == `"yes"`, nil
				}
			}}
			w := enginetest.New(t, g, h)
			w.Start("go")
			w.Finish("a", enginetest.Say("%s", tc.reply))
			w.Model = answer
			w.Go(nil)
			got := order(w)
			if w.Run.Status() == event.StatusFailed {
				got = "failed " + failure(t, w).Code
			}
			if got != tc.want {
				t.Errorf("ran %s, want %s\n%s", got, tc.want, w.Log())
			}
			w.CheckPrefixes()
		})
	}
}

// TestNoRoute checks that a run fails if nothing matches and there is no default, and that it shows
// the value that failed to match (P16).
func TestNoRoute(t *testing.T) {
	t.Parallel()
	d := workflow.Node{ID: "d", Kind: workflow.KindDecide,
		Decide: &workflow.Decide{Cases: []workflow.Case{
			{Port: "x", When: workflow.Condition{Language: workflow.LangMatch, Op: "equal", Text: "x"}},
		}}}
	w := enginetest.New(t, enginetest.Graph(nodes(d, "a"), "d:x -> a"), nil)
	w.Start("something else")
	if f := failure(t, w); f.Code != event.CodeNoRoute || !strings.Contains(f.Message, `"something else"`) {
		t.Errorf("got %+v", f)
	}
}

// TestPrompts checks how the prompts of the other modes are built: literally, in one pass (S0-11 to
// S0-13, S4-3, S4-15).
func TestPrompts(t *testing.T) {
	t.Parallel()
	node := func(mode workflow.PromptMode, text string) workflow.Node {
		n := enginetest.Agent("b")
		n.Agent.Prompt = workflow.Prompt{Mode: mode, Text: text}
		return n
	}
	for name, tc := range map[string]struct {
		n      workflow.Node
		system string
		input  string
		reply  string
		prompt string
		sys    string
	}{
		"template": {
			node(workflow.PromptTemplate, "See {{PREVIOUS_OUTPUT}} and {{PREVIOUS_OUTPUT}}, not {{ PREVIOUS_OUTPUT }}"),
			"", "go", "$& {{PREVIOUS_OUTPUT}}",
			"See $& {{PREVIOUS_OUTPUT}} and $& {{PREVIOUS_OUTPUT}}, not {{ PREVIOUS_OUTPUT }}", "",
		},
		"blank template": {node(workflow.PromptTemplate, " \n"), "", "go", "out", "out", ""},
		"context": {node(workflow.PromptContext, "Please proceed."), "", "go", "out",
			"--- Prior Step Outputs ---\n\n[a (agent: a)]:\nout\n\n--- End Prior Step Outputs ---\n\ngo", ""},
		"context, no input": {node(workflow.PromptContext, "Please proceed."), "", "", "out",
			"--- Prior Step Outputs ---\n\n[a (agent: a)]:\nout\n\n--- End Prior Step Outputs ---\n\nPlease proceed.",
			""},
		"context, no outputs": {node(workflow.PromptContext, "Please proceed."), "", "go", "", "go", ""},
		"system": {node(workflow.PromptTemplate, ""), "Mind {{ $steps.a.output }}.", "go",
			"{{ $steps.a.output }}", "{{ $steps.a.output }}", "Mind {{ $steps.a.output }}."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph(nodes("a", tc.n, "c"), "a -> b; b -> c",
				workflow.Agent{ID: "b", System: tc.system, Template: true})
			w := enginetest.New(t, g, nil)
			w.Start(tc.input)
			w.Finish("a", enginetest.Say("%s", tc.reply))
			c := w.Asked("b")
			if c.Messages[0].Text.String() != tc.prompt || c.System != tc.sys {
				t.Errorf("prompt %q\nwant   %q\nsystem %q, want %q", c.Messages[0].Text.String(), tc.prompt, c.System,
					tc.sys)
			}
			w.Crash()
			if again := w.Asked("b"); again.System != tc.sys {
				t.Errorf("system after a crash %q", again.System)
			}
		})
	}
}

// TestSystem_Missing checks that a reference without a value in a system prompt fails the step
// before anything is sent, whether a step, a call of a sub-agent or a hand-off begins with the
// agent (S4-15).
func TestSystem_Missing(t *testing.T) {
	t.Parallel()
	b := workflow.Agent{ID: "b", System: "{{ $steps.c.output }}", Template: true}
	for name, tc := range map[string]struct {
		a    workflow.Agent
		says *engine.ModelResult
	}{
		"step": {workflow.Agent{ID: "a"}, enginetest.Say("out")},
		"sub-agent": {workflow.Agent{ID: "a", Subagents: []workflow.Subagent{{Agent: "b", Tool: "ask_b"}}},
			enginetest.Asks(enginetest.Call("1", "ask_b", `{"input":"go"}`))},
		"hand-off": {workflow.Agent{ID: "a", Handoffs: []string{"b"}}, handTo("1", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := enginetest.Graph(nodes(enginetest.Agent("a"), enginetest.Agent("b"), "c"), "a -> b; b -> c", tc.a, b)
			w := enginetest.New(t, g, nil)
			w.Start("go")
			w.Finish("a", tc.says)
			const want = "instruction of agent b: {{ $steps.c.output }}: $steps.c.output has no value"
			if f := failure(t, w); f.Code != event.CodeExpression || f.Message != want {
				t.Errorf("got %+v", f)
			}
			for _, c := range w.Pending {
				t.Errorf("%T is pending", c)
			}
		})
	}
}

// TestToolArguments checks the arguments of tool nodes: each string is a template of its own, so
// that an output never changes their shape; without arguments, the input is used.
func TestToolArguments(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args, input, want string
	}{
		"template": {`{"q":"{{ $steps.a.output }}","n":[1,"{{PREVIOUS_OUTPUT}}",null],"{{k}}":true}`,
			`say "hi", {{ $steps.a.output }}`, `{"n":[1,"say \"hi\", {{ $steps.a.output }}",null],"q":"say \"hi\", ` +
				`{{ $steps.a.output }}","{{k}}":true}`},
		"no arguments": {``, `text`, `{"input":"text"}`},
		"empty object": {`{}`, `text`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := toolNode("t", "act")
			n.Tool.Args = []byte(tc.args)
			w := enginetest.New(t, enginetest.Graph(nodes("a", n), "a -> t"), nil)
			w.Start("go")
			w.Finish("a", enginetest.Say("%s", tc.input))
			if got := string(w.Pending[0].(*engine.CallTool).Arguments); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	w := enginetest.New(t, enginetest.Graph(nodes(funcNode("f"), toolNode("t", "act")), "f -> t"), nil)
	w.Start("go")
	w.Finish("f", &engine.FuncResult{Output: event.Value(`{"as":"it is"}`)})
	if got := string(w.Pending[0].(*engine.CallTool).Arguments); got != `{"as":"it is"}` {
		t.Errorf("an object as input: %s", got)
	}
}
