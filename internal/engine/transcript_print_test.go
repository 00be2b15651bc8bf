package engine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/workflow"
)

// eventLine formats an event: its public number, its type, node#step, and the fields that matter to
// a reader.
func eventLine(e *event.Event) string {
	where := e.Node
	if e.Step > 0 {
		where += "#" + strconv.Itoa(e.Step)
	}
	return strings.TrimRight(fmt.Sprintf("%3d %-18s %-9s %s", e.Seq, e.Data.Type(), where,
		strings.Join(eventFields(e), " ")), " ")
}

// fields collects `name=value` for non-zero values.
type fields []string

func (f *fields) add(name string, v any) {
	switch v := v.(type) {
	case string:
		if v != "" {
			*f = append(*f, name+"="+v)
		}
	case int:
		if v != 0 {
			*f = append(*f, name+"="+strconv.Itoa(v))
		}
	case int64:
		f.add(name, int(v))
	case bool:
		if v {
			*f = append(*f, name)
		}
	case event.Value:
		if v != nil {
			*f = append(*f, name+"="+short(v))
		}
	case map[string]event.Value:
		if v != nil {
			b, _ := json.Marshal(v) // values are valid JSON
			f.add(name, event.Value(b))
		}
	case []string:
		f.add(name, strings.Join(v, ","))
	case *event.Failure:
		if v != nil {
			*f = append(*f, strings.TrimSpace(v.Code+" "+quoted(v.Message)))
		}
	case *workflow.Budget:
		if v != nil {
			*f = append(*f, name+"="+budgetText(*v))
		}
	}
}

// eventFields lists what a reader of a transcript needs to know about an event. Omitted fields,
// such as prompts, appear in the commands or do not affect the engine's decisions.
func eventFields(e *event.Event) (f fields) {
	switch d := e.Data.(type) {
	case *event.RunCreated:
		f.add("input", d.Input)
		f.add("above", d.Above)
	case *event.RunPaused:
		f.add("wait", d.Wait)
	case *event.RunResumed:
		f.add("reason", d.Reason)
		f.add("above", d.Above)
	case *event.RunCompleted:
		f.add("output", "of#"+strconv.Itoa(d.OutputStep))
	case *event.RunFailed:
		f.add("", &d.Error)
	case *event.RunCancelled:
		f.add("reason", quoted(d.Reason))
	case *event.RunCancelling:
		f.add("reason", quoted(d.Reason))
	case *event.LimitReached:
		f.add("limit", d.Limit)
		f.add("max", d.Max)
		f.add("detail", d.Detail)
	case *event.TimerFired:
		f.add("timer", d.Timer)
	case *event.SignalRaised:
		f.add("signal", d.Signal)
	case *event.SignalReceived:
		f.add("signal", d.Signal)
		f.add("value", d.Value)
	case *event.ToolsPinned:
		f.add("pins", d.Pins)
	case *event.StepStarted, *event.StepRetrying, *event.StepCompleted, *event.StepFailed, *event.StepCancelled,
		*event.StepSkipped, *event.EdgeTaken, *event.ConditionChecked:
		return stepFields(e)
	case *event.WaitOpened, *event.WaitAnswered, *event.WaitReminded, *event.WaitClosed:
		return waitFields(e)
	default:
		return callFields(e)
	}
	return f
}

func stepFields(e *event.Event) (f fields) {
	switch d := e.Data.(type) {
	case *event.StepStarted:
		f.add("from", origin(d.From))
		f.add("tokens", numbers(d.Tokens))
		f.add("scope", d.Scope)
		if d.Iteration > 1 {
			f.add("iteration", d.Iteration)
		}
		if d.Recipe != nil {
			f.add("recipe", recipeText(d.Recipe))
		}
	case *event.StepRetrying:
		f.add("call", d.Call)
		f.add("attempt", d.Attempt)
		f.add("model", d.Model)
		f.add("in", d.Until.Sub(e.At).String())
		f.add("", &d.Error)
	case *event.StepCompleted:
		f.add("same", d.Same)
		f.add("reply", d.Reply)
		f.add("json", d.JSON)
		f.add("given", d.Given)
		f.add("output", d.Output)
		f.add("update", d.Update)
		f.add("ports", d.Ports)
		f.add("goto", d.Goto)
	case *event.StepFailed:
		f.add("", &d.Error)
		f.add("port", d.Port)
	case *event.StepCancelled:
		f.add("reason", quoted(d.Reason))
	case *event.StepSkipped:
		f.add("reason", quoted(d.Reason))
	case *event.EdgeTaken:
		f.add("to", d.To)
		f.add("token", d.Token)
		f.add("scope", d.Scope)
		f.add("branch", d.Branch)
		f.add("held", d.Queued)
		f.add("state", d.State)
	case *event.ConditionChecked:
		f.add("case", strconv.Itoa(d.Index))
		f.add(cmp.Or(d.Op, "expression"), quoted(d.Text))
		f.add("result", strconv.FormatBool(d.Result))
	}
	return f
}

func waitFields(e *event.Event) (f fields) {
	switch d := e.Data.(type) {
	case *event.WaitOpened:
		f.add("wait", d.Wait)
		f.add("kind", d.Kind)
		f.add("call", d.Call)
		f.add("binding", d.Binding)
		if d.Limit != nil {
			f.add("limit", d.Limit.Limit)
		}
		f.add("signal", d.Signal)
		f.add("prompt", quoted(d.Prompt))
	case *event.WaitAnswered:
		f.add("wait", d.Wait)
		f.add("decision", d.Decision)
		f.add("answer", d.Answer)
		f.add("note", quoted(d.Note))
		if d.Kept != 0 {
			f.add("kept", strconv.Itoa(d.Kept))
		}
	case *event.WaitReminded:
		f.add("wait", d.Wait)
	case *event.WaitClosed:
		f.add("wait", d.Wait)
		f.add("reason", d.Reason)
	}
	return f
}

func callFields(e *event.Event) (f fields) {
	call := func(key string, attempt int) { f.add("call", key+"#"+strconv.Itoa(attempt)) }
	switch d := e.Data.(type) {
	case *event.ModelCalled:
		call(d.Call, d.Attempt)
		f.add("frame", d.Frame)
		f.add("model", d.Model)
		if v := d.Instead; v != nil {
			f.add("instead", v.Model+":"+v.Code)
		}
		f.add("messages", d.Length)
		if v := d.Compaction; v != nil {
			f.add("compacts", fmt.Sprint(v.Left)+" "+v.Reason)
		}
		if v := d.Reserved; v != nil {
			f.add("reserved", fmt.Sprintf("%d+%d", v.Input, v.Output))
			f.add("bound", v.Bound)
		}
	case *event.ModelReplied:
		call(d.Call, d.Attempt)
		f.add("text", quoted(d.Message.Text.String()))
		for _, tc := range d.Message.ToolCalls {
			f.add("calls", tc.Name+string(tc.Arguments))
		}
		if len(d.Concurrent) > 0 {
			f.add("concurrent", fmt.Sprint(d.Concurrent))
		}
		if len(d.Asks) > 0 {
			f.add("asks", fmt.Sprint(d.Asks))
		}
		f.add("stop", d.Stop)
		f.add("late", d.Late)
	case *event.AgentCompacted:
		f.add("call", d.Call)
		f.add("messages", fmt.Sprintf("%d->%d", d.Before, d.After))
		if d.Error != nil {
			f.add("", d.Error)
		}
	case *event.ModelFailed:
		call(d.Call, d.Attempt)
		f.add("", &d.Error)
		f.add("late", d.Late)
	case *event.ToolCalled:
		call(d.Call, d.Attempt)
		f.add("frame", d.Frame)
		f.add("tool", d.Tool)
		f.add("arguments", d.Arguments)
		f.add("check-only", d.CheckOnly)
	case *event.ToolReturned:
		if d.Call != "" {
			call(d.Call, d.Attempt)
		}
		f.add("text", quoted(d.Text))
		f.add("error", d.IsError)
		f.add("late", d.Late)
	case *event.ToolFailed:
		call(d.Call, d.Attempt)
		f.add("", &d.Error)
		f.add("late", d.Late)
		f.add("unknown", d.Unknown)
		f.add("kept", d.Kept)
	case *event.FuncCalled:
		call(d.Call, d.Attempt)
	case *event.FuncReturned:
		call(d.Call, d.Attempt)
		f.add("output", d.Output)
		f.add("update", d.Update)
		f.add("goto", d.Goto)
		f.add("", d.Error)
		f.add("late", d.Late)
		f.add("kept", d.Kept)
	case *event.FuncNoted:
		call(d.Call, d.Attempt)
		f.add("key", d.Key)
		f.add("value", d.Value)
	case *event.SubagentStarted:
		f.add("frame", d.Frame)
		f.add("agent", d.Agent)
		f.add("input", quoted(d.Input))
	case *event.SubagentCompleted:
		f.add("frame", d.Frame)
	case *event.SubagentFailed:
		f.add("frame", d.Frame)
		f.add("", &d.Error)
	case *event.AgentHanded:
		f.add("from", d.From)
		f.add("to", d.Agent)
	case *event.ChildStarted:
		call(d.Call, d.Attempt)
		f.add("run", d.Run)
		f.add("part", d.Part)
	case *event.CallUsed:
		call(d.Call, d.Attempt)
		f.add("run", d.Run)
		f.add("key", d.Key)
		f.add("tokens", d.Used.Borne.Tokens)
		f.add("calls", d.Used.Borne.Calls)
		f.add("ended", d.Ended)
	case *event.CallReserved:
		call(d.Call, d.Attempt)
		f.add("key", d.Key)
		f.add("output", d.Output)
		f.add("bound", d.Bound)
		f.add("part", d.Part)
	}
	return f
}

// commandLine formats a command; "" for commands that repeat an event.
func commandLine(c engine.Command, now time.Time) string {
	switch c := c.(type) {
	case *engine.CallModel:
		line := fmt.Sprintf("ask model   %s: %s", c.ID, lastMessage(c.Messages))
		if c.MaxOutput > 0 {
			line += fmt.Sprintf(", at most %d tokens", c.MaxOutput)
		}
		return line
	case *engine.CallTool:
		line := fmt.Sprintf("call tool   %s: %s(%s)", c.ID, c.Tool, c.Arguments)
		if c.Approved != "" {
			line += ", approved"
		}
		if c.CheckOnly {
			line += ", check only"
		}
		return line
	case *engine.CallFunc:
		line := fmt.Sprintf("call func   %s: %s", c.ID, c.Func)
		if c.State.Len() > 0 {
			state, _ := json.Marshal(c.State.Map()) // values are valid JSON
			line += " state=" + short(state)
		}
		for _, n := range c.Notes {
			line += fmt.Sprintf(" note %s=%s", n.Key, short(n.Value))
		}
		return line
	case *engine.StartTimer:
		return fmt.Sprintf("start timer %s: in %s", c.ID, c.At.Sub(now).Round(time.Second))
	case *engine.CancelCalls:
		return "cancel      " + strings.Join(c.IDs, " ")
	case *engine.OpenWait:
		return "show wait   " + c.Wait
	case *engine.Finish:
		return "finish      " + string(c.Status)
	}
	return fmt.Sprintf("%T", c)
}

// lastMessage formats the last message of a conversation.
func lastMessage(messages []chat.Message) string {
	if len(messages) == 0 {
		return "no messages"
	}
	m := messages[len(messages)-1]
	return string(m.Role) + " " + quoted(m.Text.String())
}

// recipeText formats the composition of a prompt: literals, outputs of steps (`#3`), the run's
// input, and the first parts of an earlier recipe (`#3[5]`).
func recipeText(r *prompt.Recipe) string {
	var out []string
	for _, p := range r.Parts {
		switch {
		case p.Input:
			out = append(out, "input")
		case p.Parts > 0:
			out = append(out, fmt.Sprintf("#%d[%d]", p.Step, p.Parts))
		case p.Step > 0:
			out = append(out, "#"+strconv.Itoa(p.Step))
		default:
			out = append(out, cut(enginetest.Text(p.Text), 24))
		}
	}
	return strings.Join(out, "+")
}

// origin names the step that a value came from.
func origin(step int) string {
	if step == 0 {
		return "input"
	}
	return "#" + strconv.Itoa(step)
}

func numbers(list []int) string {
	var out []string
	for _, n := range list {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ",")
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return short(enginetest.Text(s))
}

// short truncates a long value.
func short(v event.Value) string { return cut(v, 90) }

func cut(v event.Value, most int) string {
	s := []rune(string(v))
	if len(s) <= most {
		return string(s)
	}
	return strings.TrimSpace(string(slices.Concat(s[:most], []rune("…"))))
}

func budgetText(b workflow.Budget) string {
	var out []string
	if b.MaxTokens > 0 {
		out = append(out, fmt.Sprintf("%dtokens", b.MaxTokens))
	}
	if b.MaxCostUSD > 0 {
		out = append(out, fmt.Sprintf("%gUSD", b.MaxCostUSD))
	}
	if b.MaxCalls > 0 {
		out = append(out, fmt.Sprintf("%dcalls", b.MaxCalls))
	}
	return strings.Join(out, "+")
}
