package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
)

// Canonical gives what a journal says apart from when it happened: a line for each event, without times, ids that were drawn, and what follows from the order in which concurrent calls ended. So two
// journals of one workflow with the same replies are equal, whatever store or driver made them.
//
// Steps are named by their node and its iteration in place of their number, and so are the calls, waits, tokens and scopes that are numbered by steps. Lines are sorted by step, and within a step by tool
// call; events of one step are otherwise in their order. That a run paused depends on which branches were at work: those events are left out.
func Canonical(events []engine.Event) ([]string, error) {
	c := canon{steps: map[int]string{}, tokens: map[int]string{}, scopes: map[int]string{}}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *engine.StepStarted:
			c.steps[e.Step] = fmt.Sprintf("%s#%d", e.Node, d.Iteration)
		case *engine.EdgeTaken:
			if d.Branch > 0 {
				c.scopes[d.Scope] = fmt.Sprintf("%s branch %d", c.steps[e.Step], d.Branch)
			}
			if d.Token > 0 {
				c.tokens[d.Token] = fmt.Sprintf("%s edge %d to %s, branch %d", c.steps[e.Step], d.Edge, d.To, d.Branch)
			}
		}
	}
	type line struct{ group, text string }
	var lines []line
	for _, e := range events {
		group := c.steps[e.Step]
		switch d := e.Data.(type) {
		case *engine.RunPaused, *engine.RunResumed:
			continue
		case *engine.ToolCalled:
			group += " " + d.Call
		case *engine.ToolReturned:
			group += " " + d.Call
		case *engine.ToolFailed:
			group += " " + d.Call
		}
		raw, err := json.Marshal(e.Data)
		if err != nil {
			return nil, err
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var data any
		if err := dec.Decode(&data); err != nil {
			return nil, err
		}
		if raw, err = json.Marshal(c.value("", data)); err != nil {
			return nil, err
		}
		lines = append(lines, line{group, fmt.Sprintf("%s %s %s %s", c.steps[e.Step], e.Node, e.Data.Type(), raw)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return strings.Compare(a.group, b.group) })
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.text
	}
	return out, nil
}

// canon are the names of what is numbered.
type canon struct{ steps, tokens, scopes map[int]string }

// drawn are fields that hold times, or what is drawn, measured or made of ids.
var drawn = []string{"at", "until", "deadline", "remind", "trace", "details", "binding", "forkedAt"}

// numbered is an id of a call, wait, timer or conversation: it begins with the number of its step.
var numbered = regexp.MustCompile(`^([a-z]*:?)(\d+)(\.|$)`)

func (c canon) value(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if slices.Contains(drawn, k) {
				delete(v, k)
				continue
			}
			v[k] = c.value(k, item)
		}
	case []any:
		for i, item := range v {
			v[i] = c.value(key, item)
		}
		if key == "tokens" {
			slices.SortFunc(v, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	case json.Number:
		n, err := strconv.Atoi(v.String())
		if err != nil {
			return v
		}
		names := map[string]map[int]string{"tokens": c.tokens, "token": c.tokens, "scope": c.scopes, "from": c.steps, "outputStep": c.steps, "step": c.steps}[key]
		if name, ok := names[n]; ok {
			return name
		}
	case string:
		switch key {
		case "call", "parentCall", "wait", "timer", "conversation":
			if m := numbered.FindStringSubmatch(v); m != nil {
				if n, err := strconv.Atoi(m[2]); err == nil && c.steps[n] != "" {
					return m[1] + c.steps[n] + v[len(m[1])+len(m[2]):]
				}
			}
		}
	}
	return v
}
