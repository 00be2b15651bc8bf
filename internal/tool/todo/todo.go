package todo

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
)

const instructions = `## Todo tools

Keep track of the work with todos:
- create one for each major step before you begin complex work, several at once with create_todos
- set a todo to in-progress before you begin it and to completed as soon as it is done
- update several at once with update_todos
- leave none pending or in-progress when you give your final answer`

// Type returns the tool type that opens toolsets of type `todo`.
func Type() tool.Type {
	return tool.Type{
		Stateful: true,
		Open:     func(spec tool.Spec) (tool.Toolset, error) { return New(spec), nil },
	}
}

// Toolset holds the lists of one toolset. It implements [tool.Toolset] and [tool.Instructor]; its
// tools implement [tool.Restorer].
type Toolset struct {
	name   string
	shared bool

	mu     sync.Mutex
	lists  map[string]*list // by agent, or under "" if shared
	closed bool
}

// New creates the toolset that spec describes.
func New(spec tool.Spec) *Toolset {
	return &Toolset{name: spec.Title(), shared: spec.Shared, lists: map[string]*list{}}
}

// Name implements tool.Toolset.
func (t *Toolset) Name() string { return t.name }

// Instructions implements tool.Instructor.
func (t *Toolset) Instructions() string { return instructions }

// Tools implements tool.Toolset.
func (t *Toolset) Tools(context.Context) ([]tool.Tool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, tool.ErrClosed
	}
	var out []tool.Tool
	for _, d := range defs {
		out = append(out, todoTool{set: t, def: d})
	}
	return out, nil
}

// Close implements tool.Toolset.
func (t *Toolset) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return nil
}

// list returns the list of an agent. The caller must hold the lock.
func (t *Toolset) list(agent string) *list {
	if t.shared {
		agent = ""
	}
	l := t.lists[agent]
	if l == nil {
		l = &list{answers: map[string]tool.Result{}}
		t.lists[agent] = l
	}
	return l
}

const (
	descriptionSchema = `{"type":"string","minLength":1,"description":"What is to be done"}`
	updateSchema      = `"id":{"type":"string","description":"Id of the ` +
		`todo"},"status":{"type":"string","enum":["pending","in-progress","completed"],"description":"New status"}`
)

// object returns the schema of an object with the given properties and required properties.
func object(properties, required string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required +
		`],"additionalProperties":false}`)
}

var defs = []chat.ToolDef{
	{
		Name:        "create_todo",
		Description: "Create a todo",
		Parameters:  object(`"description":`+descriptionSchema, `"description"`),
	},
	{
		Name:        "create_todos",
		Description: "Create several todos at once",
		Parameters: object(`"descriptions":{"type":"array","items":`+descriptionSchema+`,"minItems":1}`,
			`"descriptions"`),
	},
	{
		Name:        "update_todo",
		Description: "Set the status of a todo",
		Parameters:  object(updateSchema, `"id","status"`),
	},
	{
		Name:        "update_todos",
		Description: "Set the status of several todos at once",
		Parameters: object(`"updates":{"type":"array","minItems":1,"items":`+
			string(object(updateSchema, `"id","status"`))+`}`, `"updates"`),
	},
	{
		Name:        "list_todos",
		Description: "List all todos with their status",
		Parameters:  object("", ""),
	},
}

type update struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
}

type arguments struct {
	Description  string   `json:"description"`
	Descriptions []string `json:"descriptions"`
	Updates      []update `json:"updates"`
	update
}

type todoTool struct {
	set *Toolset
	def chat.ToolDef
}

func (t todoTool) Def() chat.ToolDef { return t.def }

// Policy returns retry, because a call repeated with the same key changes nothing.
func (t todoTool) Policy() tool.Policy { return tool.PolicyRetry }

// Concurrent implements tool.Concurrent.
func (t todoTool) Concurrent() bool { return t.def.Name == "list_todos" }

func (t todoTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	var args arguments
	if err := c.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	if t.set.closed {
		return tool.Result{}, tool.ErrClosed
	}
	l := t.set.list(c.Agent)
	if r, ok := l.answers[c.Key]; ok && c.Key != "" {
		return r, nil
	}
	var a Answer
	nothing := false
	switch t.def.Name {
	case "create_todo":
		a = l.create([]string{args.Description})
	case "create_todos":
		a = l.create(args.Descriptions)
	case "update_todo":
		a, nothing = l.update([]update{args.update})
	case "update_todos":
		a, nothing = l.update(args.Updates)
	default:
		a = l.finish(Answer{})
	}
	b, err := json.Marshal(a)
	if err != nil {
		return tool.Result{}, err
	}
	r := tool.Result{Text: string(b), IsError: nothing}
	l.answers[c.Key] = r
	return r, nil
}

// Restore restores the list from the recorded answer.
func (t todoTool) Restore(c tool.Call, r tool.Result) {
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	l := t.set.list(c.Agent)
	if l.restore(r.Text) {
		l.answers[c.Key] = r
	}
}
