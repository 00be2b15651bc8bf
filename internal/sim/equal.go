package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// Diff returns how two journals of one workflow with the same replies differ, regardless of which
// stores and drivers wrote them; it returns "" if they are equal. The journals must be of runs with
// the same ID.
//
// Events are compared in their public form (journal.MarshalEvent), byte for byte, except for:
//
//   - times: when an event happened, the times of deadlines, reminders, retries, forks and signals,
//     the time until a reply began, and the day in the facts of the run. Only their presence
//     counts, not their value;
//   - generated IDs: trace contexts, and the provider's ID of a reply.
//
// If two steps, or two calls of one step, are concurrent in either journal, their order is not
// determined by the workflow. Only in that case:
//
//   - numbers that depend on the order of events are replaced: steps by their node, branch and
//     iteration in it, and likewise waits, timers, tokens and scopes, which are numbered by steps;
//     calls by their step, the agent loop in it and their position there; seq is ignored;
//   - events are compared in their order within a step, within each agent loop of a step and within
//     a tool call, but not across these; the order in which the items of a map end is ignored too;
//   - that the run was paused and resumed, and that tokens waited in the queue of a paused run,
//     depends on concurrent work and is ignored; so is the binding of a tool call, which hashes
//     such numbers.
//
// It returns an error if an event cannot be encoded.
func Diff(want, got []event.Event) (string, error) {
	forms, err := formsOf(want, got)
	if err != nil {
		return "", err
	}
	return cmp.Diff(forms[0], forms[1]), nil
}

// formsOf returns the lines by which Diff compares two journals.
func formsOf(want, got []event.Event) (forms [2][]string, err error) {
	ordered := !hasConcurrency(want) && !hasConcurrency(got)
	for i, events := range [][]event.Event{want, got} {
		if forms[i], err = form(events, ordered); err != nil {
			return forms, err
		}
	}
	return forms, nil
}

// placeholderTime replaces each time.
var placeholderTime = time.Unix(0, 0).UTC()

// timeless returns an event without times and generated IDs. The event itself is not modified.
func timeless(e event.Event) event.Event {
	e.At = placeholderTime
	at := func(t time.Time) time.Time {
		if !t.IsZero() {
			t = placeholderTime
		}
		return t
	}
	details := func(d *chat.CallDetails) *chat.CallDetails {
		if d == nil {
			return nil
		}
		c := *d
		c.ID, c.FirstChunk = "", 0
		return &c
	}
	switch d := e.Data.(type) {
	case *event.RunCreated:
		c := *d
		c.ForkedAt = at(c.ForkedAt)
		if _, ok := c.Facts[event.FactDate]; ok {
			c.Facts = maps.Clone(c.Facts)
			c.Facts[event.FactDate] = "a day"
		}
		e.Data = &c
	case *event.RunResumed:
		c := *d
		c.Trace = ""
		e.Data = &c
	case *event.StepStarted:
		c := *d
		if c.Until != nil {
			until := at(*c.Until)
			c.Until = &until
		}
		if c.Expires != nil {
			expires := at(*c.Expires)
			c.Expires = &expires
		}
		e.Data = &c
	case *event.WaitOpened:
		c := *d
		c.Deadline, c.Remind = at(c.Deadline), at(c.Remind)
		e.Data = &c
	case *event.WaitAnswered:
		c := *d
		c.Trace = ""
		e.Data = &c
	case *event.StepRetrying:
		c := *d
		c.Until = at(c.Until)
		e.Data = &c
	case *event.ModelReplied:
		c := *d
		c.Details = details(c.Details)
		e.Data = &c
	case *event.ModelFailed:
		c := *d
		c.Details = details(c.Details)
		e.Data = &c
	case *event.FuncReturned:
		c := *d
		c.Signals = slices.Clone(c.Signals)
		for i := range c.Signals {
			c.Signals[i].At = at(c.Signals[i].At)
		}
		e.Data = &c
	case *event.SignalRaised:
		c := *d
		c.At = at(c.At)
		e.Data = &c
	}
	return e
}

// hasConcurrency reports whether two steps, or two calls of one step, were in progress at the same
// time, counting calls, waits, and delays before retries. A wait about a call is part of the call.
func hasConcurrency(events []event.Event) bool {
	open := map[string]bool{}
	for _, e := range events {
		delete(open, fmt.Sprint("retry ", e.Step))
		switch d := e.Data.(type) {
		case *event.ModelCalled:
			open[d.Call] = true
		case *event.ToolCalled:
			open[d.Call] = true
		case *event.FuncCalled:
			open[d.Call] = true
		case *event.ModelReplied:
			delete(open, d.Call)
		case *event.ModelFailed:
			delete(open, d.Call)
		case *event.ToolReturned:
			delete(open, d.Call)
		case *event.ToolFailed:
			delete(open, d.Call)
		case *event.FuncReturned:
			delete(open, d.Call)
		case *event.StepRetrying:
			open[fmt.Sprint("retry ", e.Step)] = true
		case *event.WaitOpened:
			if d.Call == "" {
				open[d.Wait] = true
			}
		case *event.WaitAnswered:
			delete(open, d.Wait)
		case *event.WaitClosed:
			delete(open, d.Wait)
		}
		if len(open) > 1 {
			return true
		}
	}
	return false
}

// form returns a line for each event such that the lines of equal journals are equal.
func form(events []event.Event, ordered bool) ([]string, error) {
	out := make([]string, len(events))
	for i, e := range events {
		raw, err := journal.MarshalEvent("", timeless(e))
		if err != nil {
			return nil, err
		}
		out[i] = string(raw)
	}
	if ordered {
		return out, nil
	}
	return unordered(events, out)
}

// unordered returns the lines of events without numbers that depend on the order of events, sorted
// by step.
func unordered(events []event.Event, lines []string) ([]string, error) {
	n := namesOf(events)
	type line struct{ group, text string }
	var sorted []line
	for i, e := range events {
		if _, ok := e.Data.(*event.RunPaused); ok {
			continue
		}
		if _, ok := e.Data.(*event.RunResumed); ok {
			continue
		}
		group := n.group(e)
		var shown struct {
			Type, Node string
			Data       json.RawMessage
		}
		err := json.Unmarshal([]byte(lines[i]), &shown)
		if err != nil {
			return nil, err
		}
		if _, ok := e.Data.(*event.StepStarted); ok {
			if shown.Data, err = n.reiterate(e.Step, shown.Data); err != nil {
				return nil, err
			}
		}
		data, err := n.rename("", shown.Data)
		if err != nil {
			return nil, err
		}
		sorted = append(sorted, line{group, fmt.Sprintf("%s %s %s %s", n.steps[e.Step], shown.Node, shown.Type, data)})
	}
	slices.SortStableFunc(sorted, func(a, b line) int { return strings.Compare(a.group, b.group) })
	out := make([]string, len(sorted))
	for i, l := range sorted {
		out[i] = l.text
	}
	return out, nil
}

// names holds the replacements for the numbers of steps, tokens and scopes, and for the IDs of
// calls.
type names struct {
	steps, tokens, scopes map[int]string
	calls                 map[string]string
	iterations            map[int]int // of steps in a branch or an item
}

func namesOf(events []event.Event) names {
	n := names{steps: map[int]string{}, tokens: map[int]string{}, scopes: map[int]string{}, calls: map[string]string{},
		iterations: map[int]int{}}
	counts := map[string]int{} // of calls, by their frame
	call := func(id string) {
		frame := id[:max(strings.LastIndex(id, "."), 0)]
		if _, ok := n.calls[id]; !ok {
			counts[frame]++
			n.calls[id] = fmt.Sprintf("%s call %d", n.renameStep(frame), counts[frame])
		}
	}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.ModelCalled:
			call(d.Call)
		case *event.ToolCalled:
			call(d.Call)
		case *event.FuncCalled:
			call(d.Call)
		case *event.StepStarted:
			if in := n.scopes[d.Scope]; in != "" { // which branch reaches a node first depends on concurrent work
				name := e.Node + " in " + in
				counts[name]++
				n.iterations[e.Step] = counts[name]
				n.steps[e.Step] = fmt.Sprintf("%s #%d", name, counts[name])
				break
			}
			n.steps[e.Step] = fmt.Sprintf("%s#%d", e.Node, d.Iteration)
		case *event.EdgeTaken:
			if d.Branch > 0 {
				n.scopes[d.Scope] = fmt.Sprintf("%s branch %d", n.steps[e.Step], d.Branch)
			}
			if d.Token > 0 {
				n.tokens[d.Token] = fmt.Sprintf("%s edge %d to %s, branch %d", n.steps[e.Step], d.Edge, d.To, d.Branch)
			}
		}
	}
	return n
}

// reiterate replaces the iteration of a step in a branch, which counts the iterations of all
// branches, with the iteration in its own branch.
func (n names) reiterate(step int, data json.RawMessage) (json.RawMessage, error) {
	k, ok := n.iterations[step]
	if !ok {
		return data, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	members["iteration"] = json.RawMessage(strconv.Itoa(k))
	return json.Marshal(members)
}

// group returns the name of the group in which events of a run are ordered: the step, and within a
// step its agent loops and tool calls.
func (n names) group(e event.Event) string {
	group := n.steps[e.Step]
	loop := func(call string) string {
		if frame := strings.SplitN(call, ".", 3); len(frame) > 1 && frame[1] != "0" {
			return group + " loop " + frame[1]
		}
		return group
	}
	switch d := e.Data.(type) {
	case *event.EdgeTaken:
		if d.Edge < 0 && d.Token == 0 && d.Branch > 0 {
			return fmt.Sprint(group, " item ", d.Branch, " ends")
		}
	case *event.ToolCalled:
		return group + " " + n.calls[d.Call]
	case *event.ToolReturned:
		return group + " " + n.calls[d.Call]
	case *event.ToolFailed:
		return group + " " + n.calls[d.Call]
	case *event.ModelCalled:
		return loop(d.Call)
	case *event.ModelReplied:
		return loop(d.Call)
	case *event.ModelFailed:
		return loop(d.Call)
	case *event.SubagentStarted:
		return fmt.Sprint(group, " loop ", d.Frame)
	case *event.SubagentCompleted:
		return fmt.Sprint(group, " loop ", d.Frame)
	case *event.SubagentFailed:
		return fmt.Sprint(group, " loop ", d.Frame)
	}
	return group
}

// Members of events, grouped by their contents.
var (
	// orderDependent lists members that depend on concurrent work.
	orderDependent = []string{"held", "binding"}
	// values lists members with the workflow's own JSON, and maps with user-defined keys: nothing
	// in them is replaced.
	values = []string{"input", "output", "arguments", "structured", "answer", "value", "update", "state", "schema",
		"pins", "facts", "meta", "edits"}
)

// numbered matches the ID of a call, wait, timer or conversation, which starts with the number of
// its step.
var numbered = regexp.MustCompile(`^([a-z]*:?)(\d+)(\.|$)`)

// rename replaces numbers in the JSON of member key.
func (n names) rename(key string, raw json.RawMessage) (json.RawMessage, error) {
	switch {
	case slices.Contains(values, key):
		return json.Marshal(string(raw)) // as a string, so that each byte counts
	case raw[0] == '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			return nil, err
		}
		for k, v := range members {
			if slices.Contains(orderDependent, k) {
				delete(members, k)
				continue
			}
			v, err := n.rename(k, v)
			if err != nil {
				return nil, err
			}
			members[k] = v
		}
		return json.Marshal(members)
	case raw[0] == '[':
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		if key == "tokens" {
			key = "token"
		}
		for i := range items {
			v, err := n.rename(key, items[i])
			if err != nil {
				return nil, err
			}
			items[i] = v
		}
		if key == "token" {
			slices.SortFunc(items, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
		}
		return json.Marshal(items)
	case raw[0] == '"':
		return n.id(key, raw)
	}
	number, err := strconv.Atoi(string(raw))
	if err != nil {
		return raw, nil //nolint:nilerr // it is no number of a step
	}
	if key == "from" && n.scopes[-number] != "" { // the item of a scope
		return json.Marshal("-" + n.scopes[-number])
	}
	list := map[string]map[int]string{"token": n.tokens, "scope": n.scopes, "from": n.steps, "outputStep": n.steps,
		"step": n.steps}[key]
	if name, ok := list[number]; ok {
		return json.Marshal(name)
	}
	return raw, nil
}

// id replaces the number in an id.
func (n names) id(key string, raw json.RawMessage) (json.RawMessage, error) {
	switch key {
	case "call", "parentCall", "wait", "timer", "conversation":
	default:
		return raw, nil
	}
	var id string
	if err := json.Unmarshal(raw, &id); err != nil {
		return nil, err
	}
	kind := id[:strings.Index(id, ":")+1] // of a timer
	if name, ok := n.calls[id[len(kind):]]; ok {
		return json.Marshal(kind + name)
	}
	return json.Marshal(n.renameStep(id))
}

// renameStep replaces the step number at the start of an ID.
func (n names) renameStep(id string) string {
	m := numbered.FindStringSubmatch(id)
	if m == nil {
		return id
	}
	step, err := strconv.Atoi(m[2])
	if err != nil || n.steps[step] == "" {
		return id
	}
	return m[1] + n.steps[step] + id[len(m[1])+len(m[2]):]
}
