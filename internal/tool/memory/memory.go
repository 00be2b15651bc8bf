package memory

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
)

// Limits of one entry and one result (SEC17).
const (
	maxText     = 16 << 10
	maxCategory = 200
	maxQuery    = 2000 // length of a search query
	maxAnswer   = 64 << 10
)

// Config specifies where a run's memories are stored.
type Config struct {
	// Store stores the memories; nil means that the type is not supported here.
	Store Store
	// Owner identifies whose memories they are: it is the origin of the workflow that runs, never a
	// name that the workflow assigns itself. If nil, the workflow has only memories that it shares
	// with other workflows by name.
	Owner []string
}

// Type returns the tool type that opens toolsets of type `memory`.
func Type(cfg Config) tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return New(cfg, spec) }}
}

// Toolset is one memory. It implements [tool.Toolset] and [tool.Instructor].
type Toolset struct {
	name  string
	store Store
	// base is the prefix of the space of every call; perAgent appends the agent.
	base     []string
	perAgent bool

	mu     sync.Mutex
	closed bool
}

// Kinds of space owners. They keep the spaces of different kinds apart.
const (
	ofOwner  = "owner"
	ofShared = "shared"
)

// New creates the toolset that spec describes. It returns a *tool.Error for invalid options, if
// there is no store, and if neither an owner nor a name identifies whose memory it is; and a
// *tool.UntrustedError for a memory that workflows share and that was not allowed.
func New(cfg Config, spec tool.Spec) (*Toolset, error) {
	t := &Toolset{name: spec.Title(), store: cfg.Store}
	if cfg.Store == nil {
		return nil, tool.Errorf(tool.KindUnsupported, t.name, "toolset %q: no memory store is available", t.name)
	}
	var o struct {
		Path   string `json:"path"`
		Memory string `json:"memory"`
	}
	if len(spec.Options) > 0 {
		dec := json.NewDecoder(bytes.NewReader(spec.Options))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&o); err != nil {
			return nil, tool.Errorf(tool.KindFailed, t.name, "toolset %q: %w", t.name, err)
		}
	}
	switch {
	case o.Memory != "" && o.Path != "":
		return nil, tool.Errorf(tool.KindFailed, t.name,
			"toolset %q: path names a memory of the workflow, memory a shared one; set only one of them", t.name)
	case o.Memory != "":
		t.base = []string{ofShared, o.Memory}
		return t, spec.CheckTrusted()
	case len(cfg.Owner) == 0:
		return nil, tool.Errorf(tool.KindFailed, t.name,
			"toolset %q: the workflow has no memory of its own: it is neither stored nor a local file", t.name)
	case o.Path != "":
		t.base = slices.Concat([]string{ofOwner}, cfg.Owner, []string{"path", o.Path})
	default:
		t.base, t.perAgent = slices.Concat([]string{ofOwner}, cfg.Owner, []string{"name", t.name}), !spec.Shared
	}
	return t, nil
}

// Name implements tool.Toolset.
func (t *Toolset) Name() string { return t.name }

// Instructions implements tool.Instructor.
func (t *Toolset) Instructions() string {
	return `## Memory tools

Memories that you add with add_memory are kept for later runs. Look for what is known with search_memories before ` +
		`you begin; keep preferences, facts and decisions
that will matter again, each as a memory of its own, and update or delete what is no longer true.`
}

// Tools implements tool.Toolset.
func (t *Toolset) Tools(context.Context) ([]tool.Tool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, tool.ErrClosed
	}
	var out []tool.Tool
	for _, e := range catalog {
		out = append(out, memoryTool{t, e})
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

// space returns the space that a call of the agent reaches. JSON encoding keeps its parts apart,
// whatever they contain.
func (t *Toolset) space(agent string) string {
	parts := t.base
	if t.perAgent {
		parts = append(slices.Clone(parts), agent)
	}
	b, _ := json.Marshal(parts) //nolint:errchkjson // text marshals
	return string(b)
}

const (
	textProperty     = `"memory":{"type":"string","minLength":1,"description":"Text to remember"}`
	categoryProperty = `"category":{"type":"string","description":"Category, such as preference, fact, project or ` +
		`decision"}`
	idProperty = `"id":{"type":"string","description":"Id of the memory"}`
)

// object returns the schema of an object with the given properties and required properties.
func object(properties, required string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required +
		`],"additionalProperties":false}`)
}

type arguments struct {
	ID       string `json:"id"`
	Memory   string `json:"memory"`
	Category string `json:"category"`
	Query    string `json:"query"`
}

type entry struct {
	def chat.ToolDef
	run func(ctx context.Context, t *Toolset, space, key string, a arguments) (string, error)
}

var catalog = []entry{
	{chat.ToolDef{Name: "add_memory", Description: "Adds a memory for this run and later ones",
		Parameters: object(textProperty+","+categoryProperty, `"memory"`)}, add},
	{chat.ToolDef{Name: "get_memories", Description: "Lists all memories", Parameters: object("", "")}, list},
	{
		chat.ToolDef{Name: "search_memories", Description: "Finds memories that contain all words of the query, " +
			"ignoring case, in one category or in all",
			Parameters: object(`"query":{"type":"string","description":"Words to find"},`+categoryProperty, "")}, list,
	},
	{chat.ToolDef{Name: "update_memory", Description: "Replaces a memory",
		Parameters: object(idProperty+","+textProperty+","+categoryProperty, `"id","memory"`)}, change},
	{chat.ToolDef{Name: "delete_memory", Description: "Deletes a memory", Parameters: object(idProperty, `"id"`)},
		remove},
}

type memoryTool struct {
	set *Toolset
	entry
}

func (m memoryTool) Def() chat.ToolDef { return m.def }

// Policy returns retry: adding is idempotent by key, and the other operations have the same result
// when repeated.
func (m memoryTool) Policy() tool.Policy { return tool.PolicyRetry }

// Concurrent implements tool.Concurrent.
func (m memoryTool) Concurrent() bool {
	return m.def.Name == "get_memories" || m.def.Name == "search_memories"
}

func (m memoryTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	m.set.mu.Lock()
	closed := m.set.closed
	m.set.mu.Unlock()
	if closed {
		return tool.Result{}, tool.ErrClosed
	}
	var a arguments
	if err := c.Decode(&a); err != nil {
		return tool.Result{}, err
	}
	switch {
	case len(a.Memory) > maxText:
		return tool.Result{Text: fmt.Sprintf("the memory has %d bytes, more than the limit of %d", len(a.Memory),
			maxText), IsError: true}, nil
	case len(a.Category) > maxCategory:
		return tool.Result{Text: fmt.Sprintf("the category has %d bytes, more than the limit of %d", len(a.Category),
			maxCategory), IsError: true}, nil
	case len(a.Query) > maxQuery:
		return tool.Result{Text: fmt.Sprintf("the query has %d bytes, more than the limit of %d", len(a.Query),
			maxQuery), IsError: true}, nil
	}
	text, err := m.run(ctx, m.set, m.set.space(c.Agent), c.Key, a)
	switch {
	case errors.Is(err, ErrNone):
		return tool.Result{Text: fmt.Sprintf("memory %q not found", a.ID), IsError: true}, nil
	case errors.Is(err, ErrFull):
		return tool.Result{Text: fmt.Sprintf("the memory holds %d entries, which is the limit; delete some",
			MaxEntries), IsError: true}, nil
	case err != nil:
		return tool.Result{}, err
	}
	return tool.Result{Text: text}, nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func add(ctx context.Context, t *Toolset, space, key string, a arguments) (string, error) {
	id, err := t.store.Add(ctx, space, cmp.Or(key, rand.Text()), Entry{Category: a.Category, Text: a.Memory, At: now()})
	return "added memory " + id, err
}

func change(ctx context.Context, t *Toolset, space, _ string, a arguments) (string, error) {
	return "updated memory " + a.ID,
		t.store.Change(ctx, space, Entry{ID: a.ID, Category: a.Category, Text: a.Memory, At: now()})
}

func remove(ctx context.Context, t *Toolset, space, _ string, a arguments) (string, error) {
	return "deleted memory " + a.ID, t.store.Remove(ctx, space, a.ID)
}

// list returns the entries that match, as JSON. If not all fit, it returns the newest and states
// what was left out.
func list(ctx context.Context, t *Toolset, space, _ string, a arguments) (string, error) {
	all, err := t.store.All(ctx, space)
	if err != nil {
		return "", err
	}
	words := strings.Fields(strings.ToLower(a.Query))
	all = slices.DeleteFunc(all, func(e Entry) bool {
		if ctx.Err() != nil {
			return true
		}
		text := strings.ToLower(e.Text + "\n" + e.Category)
		return a.Category != "" && !strings.EqualFold(e.Category, a.Category) ||
			slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	var lines []string
	size := 0
	for _, e := range slices.Backward(all) {
		b, err := json.Marshal(e)
		if err != nil {
			return "", err
		}
		if size += len(b); size > maxAnswer {
			break
		}
		lines = append(lines, string(b))
	}
	slices.Reverse(lines)
	text := "[" + strings.Join(lines, ",\n") + "]"
	if left := len(all) - len(lines); left > 0 {
		text += fmt.Sprintf("\n%d older memories are left out, since an answer has at most %d bytes; search for fewer",
			left, maxAnswer)
	}
	return text, nil
}
