package think

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
)

// maxEchoBytes is the maximum size of the earlier thoughts repeated in one result: returning the
// whole list every time would make a conversation grow quadratically (P6). The new thought is
// always included.
const maxEchoBytes = 4096

const instructions = `## Think tool

Use the think tool as a scratchpad before you act:
- list the rules that apply to the request
- check that you have everything you need
- go through the plan, and verify that it follows the rules`

// Type returns the tool type that opens toolsets of type `think`.
func Type() tool.Type {
	return tool.Type{
		Stateful: true,
		Open:     func(spec tool.Spec) (tool.Toolset, error) { return New(spec), nil },
	}
}

// Toolset is one scratchpad. It implements [tool.Toolset] and [tool.Instructor].
type Toolset struct {
	name string
	tool *thinkTool
}

// New creates the toolset that spec describes.
func New(spec tool.Spec) *Toolset {
	return &Toolset{name: spec.Title(), tool: &thinkTool{shared: spec.Shared, thoughts: map[string][]string{}}}
}

// Name implements tool.Toolset.
func (t *Toolset) Name() string { return t.name }

// Tools implements tool.Toolset.
func (t *Toolset) Tools(context.Context) ([]tool.Tool, error) {
	if t.tool.isClosed() {
		return nil, tool.ErrClosed
	}
	return []tool.Tool{t.tool}, nil
}

// Instructions implements tool.Instructor.
func (t *Toolset) Instructions() string { return instructions }

// Close implements tool.Toolset.
func (t *Toolset) Close() error {
	t.tool.mu.Lock()
	defer t.tool.mu.Unlock()
	t.tool.closed = true
	return nil
}

type thinkTool struct {
	shared bool

	mu       sync.Mutex
	thoughts map[string][]string // by agent, or under "" if shared
	keys     map[string]int      // by idempotency key: number of thoughts after that call
	closed   bool
}

func (t *thinkTool) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

func (t *thinkTool) Def() chat.ToolDef {
	return chat.ToolDef{
		Name: "think",
		Description: "Think about something. It obtains no new information and changes nothing; the thought is " +
			"appended to a list. " +
			"Use it when complex reasoning or a place to keep something in mind is needed.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"thought":{"type":"string","description":"The ` +
			`thought"}},"required":["thought"],"additionalProperties":false}`),
	}
}

func (t *thinkTool) Policy() tool.Policy { return tool.PolicyRetry }

// Concurrent implements tool.Concurrent: no other tool sees the thoughts.
func (t *thinkTool) Concurrent() bool { return true }

func (t *thinkTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	thought, err := read(c)
	if err != nil {
		return tool.Result{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return tool.Result{}, tool.ErrClosed
	}
	return tool.Result{Text: echo(t.add(c, thought))}, nil
}

// Restore appends the thought of a finished call.
func (t *thinkTool) Restore(c tool.Call, r tool.Result) {
	if thought, err := read(c); err == nil && !r.IsError {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.add(c, thought)
	}
}

// add appends a thought, once per key, and returns the list up to it.
func (t *thinkTool) add(c tool.Call, thought string) []string {
	who := c.Agent
	if t.shared {
		who = ""
	}
	key := who + "\x00" + c.Key
	if n, ok := t.keys[key]; ok && c.Key != "" {
		return t.thoughts[who][:n]
	}
	t.thoughts[who] = append(t.thoughts[who], thought)
	if t.keys == nil {
		t.keys = map[string]int{}
	}
	t.keys[key] = len(t.thoughts[who])
	return t.thoughts[who]
}

func read(c tool.Call) (string, error) {
	var args struct {
		Thought string `json:"thought"`
	}
	if err := c.Decode(&args); err != nil {
		return "", err
	}
	return args.Thought, nil
}

// echo writes the list, leaving out the oldest thoughts if it would be too long.
func echo(thoughts []string) string {
	first, size := len(thoughts)-1, 0
	for first > 0 && size+len(thoughts[first-1]) <= maxEchoBytes {
		first--
		size += len(thoughts[first])
	}
	var b strings.Builder
	b.WriteString("Thoughts:\n")
	if first > 0 {
		fmt.Fprintf(&b, "(%d earlier ones left out)\n", first)
	}
	b.WriteString(strings.Join(thoughts[first:], "\n"))
	return b.String()
}
