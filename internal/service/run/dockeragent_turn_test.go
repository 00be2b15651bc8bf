package run_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// played is a reply script for one turn of a document, with its expected results.
type played struct {
	t       *testing.T
	w       *workflow.Workflow
	replies []map[string]any
	visited map[string]bool
	calls   []playedCall
	// asked, handed and shaped count calls of sub-agents, hand-offs and structured outputs.
	asked, handed, shaped int
}

// playedCall is a call of a tool of a toolset. refused is a substring of the result of a call that
// must fail, or "" for a call that must not.
type playedCall struct{ tool, toolset, refused string }

// play writes the script: each agent that is reached calls a tool of each of its toolsets, calls
// its sub-agents or hands off, and answers.
func play(t *testing.T, w *workflow.Workflow) *played {
	t.Helper()
	p := &played{t: t, w: w, visited: map[string]bool{}}
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Agent != nil {
			p.agent(n.Agent.Agent)
		}
	}
	if len(p.visited) == 0 {
		t.Fatal("no agent is asked")
	}
	return p
}

func (p *played) agent(id string) {
	a := p.w.Agent(id)
	if a == nil || p.visited[id] {
		p.t.Fatalf("agent %q is not there, or is asked twice", id)
	}
	p.visited[id] = true
	say := func(reply map[string]any) {
		reply["agent"] = id
		p.replies = append(p.replies, reply)
	}
	if calls := p.toolCalls(a); len(calls) > 0 {
		say(map[string]any{"toolCalls": calls})
	}
	for _, sub := range a.Subagents {
		if !p.visited[sub.Agent] {
			p.asked++
			say(map[string]any{
				"toolCalls": []any{map[string]any{"name": sub.Tool, "arguments": map[string]any{"input": "go on"}}},
			})
			p.agent(sub.Agent)
		}
	}
	for _, next := range a.Handoffs {
		if !p.visited[next] {
			p.handed++
			say(
				map[string]any{"toolCalls": []any{
					map[string]any{"name": workflow.HandoffTool, "arguments": map[string]any{"agent": next}},
				}})
			p.agent(next)
			return
		}
	}
	if a.Output != nil {
		p.shaped++
		var schema any
		if err := json.Unmarshal(a.Output.Schema, &schema); err != nil {
			p.t.Fatal(err)
		}
		say(map[string]any{"json": sample(schema)})
		return
	}
	say(map[string]any{"text": "Done by " + id + "."})
}

func (p *played) toolCalls(a *workflow.Agent) (calls []any) {
	for _, spec := range specsOf(p.t, a) {
		for _, c := range harmless(spec) {
			p.calls = append(p.calls, playedCall{c.name, spec.Type, c.refused})
			calls = append(calls, map[string]any{"name": c.name, "arguments": c.arguments})
		}
	}
	return calls
}

type harmlessCall struct {
	name      string
	arguments map[string]any
	refused   string
}

// harmless returns calls of tools of a toolset that change nothing outside the run's folder; none
// for a toolset that cannot be opened.
func harmless(spec tool.Spec) []harmlessCall {
	one := func(name string, arguments map[string]any) []harmlessCall {
		return []harmlessCall{{name: name, arguments: arguments}}
	}
	switch spec.Type {
	case tool.TypeThink:
		return one("think", map[string]any{"thought": "Let us see."})
	case tool.TypeTodo:
		return one("create_todo", map[string]any{"description": "Look around"})
	case tool.TypeMemory:
		return one("add_memory", map[string]any{"memory": "People like oats"})
	case tool.TypeUserPrompt:
		return one("user_prompt", map[string]any{"message": "Shall I?"})
	case tool.TypeShell:
		return one("shell", map[string]any{"cmd": "echo hello"})
	case tool.TypeFilesystem:
		if len(spec.Tools) > 0 && !slices.Contains(spec.Tools, "list_directory") {
			return one("write_file", map[string]any{"path": "notes.txt", "content": "oats"})
		}
		return one("list_directory", map[string]any{"path": "."})
	case tool.TypeFetch: // private addresses are rejected, trusted document or not
		return []harmlessCall{{"fetch", map[string]any{"urls": []string{"http://127.0.0.1:1/"}}, "127.0.0.1"}}
	case tool.TypeMCP:
		if strings.HasPrefix(spec.Ref, "docker:") || spec.Remote != nil && spec.Remote.Transport == "sse" {
			return nil
		}
		return one(standInTool(spec), map[string]any{"text": "hello"})
	case tool.TypeOpenAPI:
		return one("listPets", map[string]any{})
	case tool.TypeAPI:
		var o struct {
			API struct {
				Name string         `json:"name"`
				Args map[string]any `json:"args"`
			} `json:"api_config"`
		}
		if json.Unmarshal(spec.Options, &o) != nil {
			return nil
		}
		return one(o.API.Name, words(o.API.Args))
	case tool.TypeScript:
		var o struct {
			Shell map[string]tool.Script `json:"shell"`
		}
		if json.Unmarshal(spec.Options, &o) != nil {
			return nil
		}
		var calls []harmlessCall
		for _, name := range slices.Sorted(maps.Keys(o.Shell)) {
			calls = append(calls, one(name, words(o.Shell[name].Args))...)
		}
		return calls
	}
	return nil
}

func words[T any](args map[string]T) map[string]any {
	out := map[string]any{}
	for name := range args {
		out[name] = "word"
	}
	return out
}

// sample returns a value that matches a plain JSON Schema.
func sample(schema any) any {
	m, _ := schema.(map[string]any)
	if list, ok := m["enum"].([]any); ok {
		return list[0]
	}
	switch m["type"] {
	case "object":
		out := map[string]any{}
		properties, _ := m["properties"].(map[string]any)
		for name, one := range properties {
			out[name] = sample(one)
		}
		return out
	case "array":
		return []any{sample(m["items"])}
	case "integer", "number":
		return 1
	case "boolean":
		return true
	}
	return "text"
}

func (p *played) script() []byte {
	b, err := json.MarshalIndent(map[string]any{"replies": p.replies}, "", " ")
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

// check checks that every call of the script was made, and had the expected result.
func (p *played) check(t *testing.T, events []event.Event) {
	t.Helper()
	made := map[string]string{}    // tool by call
	results := map[string]string{} // last result by tool; errors have the prefix "error: "
	models := 0
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.ToolCalled:
			made[d.Call] = d.Tool
		case *event.ToolReturned:
			if results[made[d.Call]] = d.Text; d.IsError {
				results[made[d.Call]] = "error: " + d.Text
			}
		case *event.ToolFailed:
			results[made[d.Call]] = "error: " + d.Error.Message
		case *event.ModelReplied:
			models++
		}
	}
	if models != len(p.replies) {
		t.Errorf("%d replies of the script of %d were used\n%s", models, len(p.replies), p.script())
	}
	for _, c := range p.calls {
		switch result, ok := results[c.tool]; {
		case !ok:
			t.Errorf("%s of %s was not called", c.tool, c.toolset)
		case c.refused == "" && strings.HasPrefix(result, "error: "):
			t.Errorf("%s of %s: %s", c.tool, c.toolset, result)
		case c.refused != "" && (!strings.HasPrefix(result, "error: ") || !strings.Contains(result, c.refused)):
			t.Errorf("%s of %s was not refused: %s", c.tool, c.toolset, result)
		}
	}
}
