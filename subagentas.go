package hocket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// SubagentOptions configures a call of [SubagentAs]. The zero value is valid.
type SubagentOptions struct {
	// Key distinguishes this piece of work from all others of the same execution of the node, or of
	// the same tool call: if it is requested again with the same key, after a crash or by a later
	// attempt, the answer is that of the first time. If empty, it is derived from agent, task and
	// these options; a task that contains the time, for example, needs a Key. Its maximum length is
	// 200 bytes.
	Key string
	// SystemPrompt and Model replace the agent's own unless they are empty, and Tools unless it is
	// nil.
	SystemPrompt, Model string
	Tools               []string
	// Limits is the budget of the child run, within what remains of the parent run's.
	Limits graph.Limits
}

// Subagent is the result of an agent called with [SubagentAs].
type Subagent[T any] struct {
	// Value is the answer, or its zero value if there is an error. Text is the answer as the agent
	// wrote it.
	Value T
	Text  string
	// Run is the run that did the work, a child run of the one that asked. Usage is its usage,
	// including everything that it started.
	Run      string
	Usage    RunUsage
	Duration time.Duration
}

// answered is the stored form of an answer; its value is decoded from its text.
type answered = Subagent[struct{}]

// maxSubagentKey is the maximum length of SubagentOptions.Key; the key under which the answer is
// stored adds a prefix.
const maxSubagentKey = 200

// SubagentAs asks an agent of the engine for a T, from a node function or a tool written in Go,
// with the context that the function received:
//
//	verdict, err := hocket.SubagentAs[Verdict](ctx, "critic", "Judge this: "+text)
//
// T is a struct, whose JSON Schema the answer must match, as with [StructuredOutput], or string,
// for an agent's text or whatever its own StructuredOutput is. The agent works in a child run,
// which is shown, paused and answered like any other, and counts in the budgets of the run that
// asks. The answer is stored before SubagentAs returns: a crash repeats neither the agent's work
// nor its cost, and later attempts of the node get the same answer. If an agent failed, the next
// attempt asks it again. At most one SubagentOptions may be passed.
//
// It returns an error if the agent failed (a *[RunError]; [Subagent].Run and Usage are set as
// well), if no agent has the name, if ctx does not belong to a function of a run, or if T has no
// schema. It can also return a *[BudgetError] or the error of ctx.
func SubagentAs[T any](ctx context.Context, agent, task string, options ...SubagentOptions) (Subagent[T], error) {
	var out Subagent[T]
	o, err := atMostOne(options, "SubagentOptions")
	if err != nil {
		return out, err
	}
	if len(o.Key) > maxSubagentKey {
		return out, fmt.Errorf("SubagentOptions.Key has %d bytes; at most %d are allowed", len(o.Key), maxSubagentKey)
	}
	w, err := workOf(ctx)
	if err != nil {
		return out, err
	}
	p := piece{
		SpawnOptions: graph.SpawnOptions{AgentID: agent, AgentName: agent, Task: task, SystemPrompt: o.SystemPrompt,
			Model: o.Model, Tools: o.Tools},
		limits: budgetOf(o.Limits).lowered(),
	}
	if err := workflow.CheckLimits(p.limits); err != nil {
		return out, err
	}
	if p.output, err = outputOf[T](); err != nil {
		return out, err
	}
	key := "agent/" + cmp.Or(o.Key, workKey(p))
	p.Key = w.key + "/" + key
	if w.attempt > 1 {
		p.Key += "-" + strconv.Itoa(w.attempt)
	}
	var failed error // with its usage
	kept, err := graph.Once(ctx, key, func(ctx context.Context) (answered, error) {
		r, err := w.bridge.work(ctx, p, 1)
		if err != nil {
			return answered{}, err
		}
		kept, err := subagentOf(r)
		if err != nil {
			out.Run, out.Usage, out.Duration, failed = kept.Run, kept.Usage, kept.Duration, err
		}
		return kept, err
	})
	if failed != nil {
		err = fmt.Errorf("sub-agent %q: %w", agent, failed)
	}
	if err != nil {
		return out, err
	}
	out = Subagent[T]{Text: kept.Text, Run: kept.Run, Usage: kept.Usage, Duration: kept.Duration}
	if text, ok := any(&out.Value).(*string); ok {
		*text = kept.Text
		return out, nil
	}
	if err := json.Unmarshal([]byte(kept.Text), &out.Value); err != nil {
		return out, fmt.Errorf("sub-agent %q: its answer is no %s: %w", agent, reflect.TypeFor[T](), err)
	}
	return out, nil
}

// asking is a call of a run that asks an agent.
type asking struct {
	bridge  *bridge
	key     string
	attempt int
}

// workOf returns the call that a context belongs to.
func workOf(ctx context.Context) (asking, error) {
	by := program.CallerOf(ctx)
	if by == nil {
		return asking{}, errors.New("SubagentAs needs the context of a node function or of a tool that a run calls")
	}
	w := by.Work()
	if w.Services != nil {
		if r, ok := w.Services.Runtime.(graph.Runtime); ok {
			if b, ok := r.Subagents.(*bridge); ok {
				return asking{b, w.Key, w.Attempt}, nil
			}
		}
	}
	return asking{}, errors.New("SubagentAs needs an engine, which the call does not have")
}

// outputOf returns the output that an agent is asked for to produce a T; nil means the agent's own.
func outputOf[T any]() (*workflow.Output, error) {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[string]() {
		return nil, nil //nolint:nilnil // the agent's own
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("SubagentAs gives a struct or a string, not %s", t)
	}
	schema, err := schemaText(graph.SchemaOf[T]())
	if err != nil {
		return nil, fmt.Errorf("the answer as %s: %w", t, err)
	}
	name := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, t.Name())
	return &workflow.Output{Name: cmp.Or(name[:min(len(name), 64)], "answer"), Schema: schema}, nil
}

// workKey derives a key for a piece of work from its content.
func workKey(p piece) string {
	raw, err := json.Marshal([]any{p.AgentName, p.Task, p.SystemPrompt, p.Model, p.Tools, p.output, p.limits})
	if err != nil { // it holds only strings and numbers
		raw = []byte(p.AgentName + "\x00" + p.Task)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// subagentOf returns the result of an agent's run. The error is why it has no answer; the usage is
// set in any case.
func subagentOf(o project.Run) (answered, error) {
	info := runInfo(o)
	out := answered{Text: info.Text(), Run: info.ID, Usage: info.Usage}
	if o.StartedAt != nil && o.EndedAt != nil {
		out.Duration = o.EndedAt.Sub(*o.StartedAt)
	}
	switch {
	case o.Status == engine.StatusCompleted:
		return out, nil
	case info.Err != nil:
		return out, info.Err
	}
	return out, fmt.Errorf("its run %s is %s", o.ID, o.Status)
}
