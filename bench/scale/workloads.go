package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/internal/tool"
)

// Sizes of the inputs and outputs of runs. The text is as hard to compress as model output.
const (
	inputBytes  = 500
	replyBytes  = 1000
	resultBytes = 2000
)

// kind is a typical run.
type kind struct {
	name, what string
	// calls is the number of model calls and tool calls that the run makes.
	calls int
	// file is the name of the document, whose extension and content determine its format.
	file, document string
	// turns is how often the run's agent calls a tool.
	turns int
	// isAnswered reports whether the run waits for a person, who approves it.
	isAnswered bool
}

var kinds = []kind{
	{"calls", "2 model calls in a row", 2, "calls.yaml", chain(2), 0, false},
	{"turns", "an agent with 30 tool turns", 61, "turns.yaml",
		"agents:\n  a: {model: own/m, instruction: Look it up., tools: [lookup]}\nworkflow:\n  - {type: agent, " +
			"name: a}\n", 30, false},
	{"parallel", "4 branches at once and one more call", 5, "parallel.yaml", parallel(4), 0, false},
	{"chain", "100 model calls in a row", 100, "chain.yaml", chain(100), 0, false},
	{"person", "a call, an approval, a call", 2, "person.json", person, 0, true},
}

const person = `{"name": "person",
 "nodes": [{"id": "s", "type": "start"},
  {"id": "draft", "type": "agent", "data": {"agentName": "Writer", "model": "own/m", "systemPrompt": "Answer in a ` +
	`few sentences."}},
  {"id": "ok", "type": "approval", "data": {"prompt": "Publish it?"}},
  {"id": "print", "type": "agent", "data": {"agentName": "Printer", "model": "own/m", "systemPrompt": "Answer in a ` +
	`few sentences."}}],
 "connections": [{"source": "s", "target": "draft"}, {"source": "draft", "target": "ok"}, {"source": "ok", "target": ` +
	`"print", "sourceHandle": "approve"}]}`

// chain returns a document with n agents in a row. Each gets only the previous output.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("agents:\n  a: {model: own/m, instruction: Answer in a few sentences.}\nworkflow:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {id: s%d, type: agent, name: a, prompt: \"Continue this: {{PREVIOUS_OUTPUT}}\"}\n", i)
	}
	return b.String()
}

func parallel(n int) string {
	var b strings.Builder
	b.WriteString("agents:\n  a: {model: own/m, instruction: Answer in a few sentences.}\nworkflow:\n  - id: " +
		"all\n    type: parallel\n    steps:\n")
	for i := range n {
		fmt.Fprintf(&b, "      - {id: s%d, type: agent, name: a}\n", i)
	}
	b.WriteString("  - {type: agent, name: a}\n")
	return b.String()
}

// words generates unique text for each call of this process.
type words struct{ n atomic.Uint64 }

// text returns n bytes that no other call returns: hexadecimal digits in words, which PostgreSQL
// compresses to about half, like prose.
func (w *words) text(n int) string {
	var s strings.Builder
	for x := w.n.Add(1)*0x9e3779b97f4a7c15 + 1; s.Len() < n; {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		fmt.Fprintf(&s, "%x ", x>>32)
	}
	return s.String()[:n]
}

// fake answers each call immediately. If the agent has the tool lookup, fake calls it turns times
// before it answers.
type fake struct {
	words
	turns int
}

// Call implements model.Client.
func (f *fake) Call(_ context.Context, r model.Request, _ func(model.Delta)) (model.Reply, error) {
	m := chat.Message{Role: chat.RoleAssistant, Text: text.Of(f.text(replyBytes))}
	results := 0
	for _, x := range r.Messages {
		if x.Role == chat.RoleTool {
			results++
		}
	}
	if results < f.turns {
		arguments, err := json.Marshal(map[string]string{"query": f.text(100)})
		if err != nil {
			return model.Reply{}, err
		}
		m = chat.Message{Role: chat.RoleAssistant,
			ToolCalls: []chat.ToolCall{{ID: fmt.Sprint("c", results), Name: "lookup", Arguments: arguments}}}
	}
	return model.Reply{Message: m, Usage: &chat.Usage{InputTokens: 500, OutputTokens: 250}, Model: "own/m"}, nil
}

// lookup is a tool that finds a page.
type lookup struct{ *words }

// Def implements tool.Tool.
func (lookup) Def() chat.ToolDef {
	return chat.ToolDef{Name: "lookup", Description: "Finds a page.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)}
}

// Policy implements tool.Tool.
func (lookup) Policy() tool.Policy { return tool.PolicyRetry }

// Call implements tool.Tool.
func (l lookup) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{Text: l.text(resultBytes)}, nil
}
