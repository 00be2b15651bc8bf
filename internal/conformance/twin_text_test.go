package conformance_test

import (
	"fmt"
	"strings"
)

// text returns the source of the document.
func (doc *xDocument) text() string {
	var b strings.Builder
	b.WriteString("agents: {a: {instruction: You are a.}}\n")
	if !doc.child {
		b.WriteString("inputs: {n: {type: integer, default: 3}}\n")
	}
	if doc.output != nil {
		fmt.Fprintf(&b, "output: %s\n", asJSON(valueTexts(doc.output)))
	}
	fmt.Fprintf(&b, "workflow:\n  max_loop_iterations: %d\n  steps:\n", doc.limit)
	for _, s := range doc.steps {
		fmt.Fprintf(&b, "    - %s\n", asJSON(s.object()))
	}
	return b.String()
}

func objects(list []*xStep, jump string) []any {
	out := []any{}
	for _, s := range list {
		out = append(out, s.object())
	}
	if jump != "" {
		out = append(out, jump)
	}
	return out
}

func micros(n int) string { return fmt.Sprintf("%d.%06ds", n/1_000_000, n%1_000_000) }

// object returns the step in its document form.
func (s *xStep) object() map[string]any {
	m := map[string]any{"id": s.id, "type": s.kind}
	if s.cond != nil && s.kind != "condition" {
		m["if"] = "{{ " + s.cond.text() + " }}"
	}
	switch s.onError {
	case "":
	case "default":
		m["on_error"] = map[string]any{"default": s.defaultOutput()}
	case "goto":
		m["on_error"] = map[string]any{"goto": s.target}
	default:
		m["on_error"] = s.onError
	}
	if s.retries > 0 {
		m["retry"] = map[string]any{"max_attempts": s.retries,
			"backoff": map[string]any{"type": "fixed", "initial_delay_seconds": s.pause}}
	}
	if s.timeout > 0 {
		m["timeout"] = micros(s.timeout)
	}
	if s.callTimeout > 0 {
		m["call_timeout"] = micros(s.callTimeout)
	}
	s.own(m)
	return m
}

// own adds the keys specific to the step's kind.
func (s *xStep) own(m map[string]any) {
	switch s.kind {
	case "set":
		m["values"] = valueTexts(s.values)
	case "tool":
		args := valueTexts(s.values)
		args["id"] = s.id
		m["tool"], m["args"] = "act", args
	case "agent":
		m["name"] = "a"
	case "sleep":
		m["for"] = micros(s.sleep)
	case "workflow":
		m["workflow"], m["input"] = s.child.id, valueTexts(s.values)
	case "end":
		m["status"] = s.status
		if s.status == "completed" {
			m["output"] = valueTexts(s.values)
		} else {
			m["message"] = "over"
		}
	case "condition":
		m["condition"] = "{{ " + s.cond.text() + " }}"
		m["true"], m["false"] = objects(s.yes, s.yesTo), objects(s.no, s.noTo)
		if s.limit != "" {
			m["limit"] = objects(s.limitSteps, s.limitJump)
		}
	case "parallel":
		m["steps"] = objects(s.steps, "")
		if s.join != "" {
			m["join"] = s.join
		}
		if s.join == "quorum" {
			m["quorum"] = s.quorum
		}
	case "map":
		over := []any{}
		for _, v := range s.list {
			over = append(over, v.text())
		}
		m["over"], m["steps"] = over, objects(s.steps, "")
		for key, word := range map[string]string{"as": s.name, "on_item_error": s.onItem} {
			if word != "" {
				m[key] = word
			}
		}
		if s.concurrency > 0 {
			m["max_concurrency"] = s.concurrency
		}
	default:
		s.ownWait(m)
	}
}

// ownWait adds the keys of steps that wait.
func (s *xStep) ownWait(m map[string]any) {
	schema := map[string]any{"type": "object", "required": []string{"v"},
		"properties": map[string]any{"v": map[string]any{"type": "integer", "minimum": s.least}}}
	switch s.kind {
	case "approval":
		m["prompt"] = "Go on?"
		switch s.reject {
		case "list":
			m["reject"] = objects(s.steps, "")
		case "jump":
			m["reject"] = s.rejectJump
		}
	case "ask":
		m["prompt"], m["schema"] = "Which?", schema
	default:
		m["signal"], m["schema"] = s.signal, schema
		if s.list != nil {
			m["filter"] = s.list[0].text()
		}
	}
	if s.deadline > 0 {
		m["deadline"] = micros(s.deadline)
		switch s.onDeadline {
		case "default":
			m["on_deadline"] = map[string]any{"default": s.defaultOutput()}
		case "goto":
			m["on_deadline"] = map[string]any{"goto": s.target}
		default:
			m["on_deadline"] = s.onDeadline
		}
	}
}

// defaultOutput returns the default output of a step.
func (s *xStep) defaultOutput() any {
	if s.kind == "map" {
		return []any{7}
	}
	return map[string]any{"v": -5}
}
