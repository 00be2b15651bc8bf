package steps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Keys of the parts of `workflow:`. A key that is not listed here is an error (S4-32).
var (
	workflowKeys = []string{"steps", "max_loop_iterations", "overrides", "budget"}
	stepKeys     = map[kind][]string{
		agentStep:     {"type", "id", "name", "prompt", "if", "timeout", "call_timeout", "retry", "on_error", "budget"},
		conditionStep: {"type", "id", "name", "condition", "true", "false", "limit", "retry"},
		switchStep:    {"type", "id", "cases", "else", "limit"},
		parallelStep:  {"type", "id", "name", "steps", "join", "quorum", "if", "timeout", "retry", "on_error"},
		toolStep:      {"type", "id", "tool", "args", "if", "timeout", "call_timeout", "retry", "on_error", "budget"},
		setStep:       {"type", "id", "values", "if", "on_error"},
		endStep:       {"type", "id", "status", "output", "message", "if"},
		approvalStep: {"type", "id", "prompt", "reject", "on_reject", "limit", "deadline", "on_deadline",
			"remind_after", "roles", "if", "on_error"},
		sleepStep: {"type", "id", "for", "until", "if"},
		workflowStep: {"type", "id", "workflow", "input", "if", "timeout", "call_timeout", "retry", "on_error",
			"budget"},
		mapStep: {"type", "id", "over", "as", "steps", "max_concurrency", "on_item_error", "if", "timeout",
			"retry", "on_error", "budget"},
		signalStep: {"type", "id", "signal", "filter", "schema", "deadline", "on_deadline", "remind_after", "if",
			"on_error"},
		askStep: {"type", "id", "prompt", "options", "schema", "deadline", "on_deadline", "remind_after", "roles",
			"if", "on_error"},
	}
	allStepKeys = []string{
		"type", "id", "name", "prompt", "condition", "true", "false", "cases", "else", "limit", "steps", "retry",
		"budget", "if",
		"timeout", "call_timeout", "on_error", "join", "quorum", "tool", "args", "values",
		"status", "output", "message", "reject", "on_reject", "deadline", "on_deadline", "remind_after", "roles",
		"options", "schema", "for", "until", "workflow", "input", "over", "as", "max_concurrency", "on_item_error",
		"signal",
		"filter",
	}
	caseKeys    = []string{"when", "steps"}
	retryKeys   = []string{"max_attempts", "backoff", "on"}
	backoffKeys = []string{"type", "initial_delay_seconds"}
)

// workflowSection reads `workflow:`, a list of steps or a map around one (S4-1, S4-19).
func (r *reader) workflowSection(f field) {
	items := f
	if f.value.Kind == source.Map {
		items = field{key: "steps", path: f.path + ".steps", value: nil, span: f.span}
		var limit, override int
		for _, g := range r.fields(f.value) {
			switch g.key {
			case "steps":
				items = g
			case "max_loop_iterations":
				limit = r.integer(g)
			case "budget":
				b, on := r.budget(g, "workflow", true)
				r.w.Limits.MaxTokens, r.w.Limits.MaxCostUSD, r.w.Limits.MaxCalls, r.w.Limits.OnBudget = b.MaxTokens,
					b.MaxCostUSD, b.MaxCalls, on
			case "overrides":
				for _, h := range r.fieldsOf(g) {
					if h.key == "max_loop_iterations" {
						override = r.integer(h)
						continue
					}
					r.unknown(h, diag.Error, "overrides", []string{"max_loop_iterations"})
				}
			default:
				r.unknown(g, diag.Error, "workflow", workflowKeys)
			}
		}
		if override > 0 {
			limit = override
		}
		r.w.Limits.MaxLoopIterations = max(limit, 0)
	}
	r.root = &list{kind: rootList}
	if items.value != nil && items.value.Kind != source.List && !items.value.IsNull() {
		r.wrongType(items, "a list of steps")
		return
	}
	r.items(r.root, items, 0)
	if items.value == nil || items.value.IsNull() || len(r.list(items)) == 0 {
		r.noSteps(f)
	}
}

func (r *reader) noSteps(f field) {
	d := r.diags.Errorf(f.span, f.path, codeNoSteps, "workflow: no steps configured")
	d.Hint = "add a step, for example `- {type: agent, name: root}`"
}

// items reads a list of steps into l.
func (r *reader) items(l *list, f field, depth int) {
	if f.value == nil || f.value.IsNull() {
		return
	}
	if depth > MaxDepth {
		r.diags.Errorf(f.span, f.path, CodeTooDeep, "steps are nested more than %d deep", MaxDepth)
		r.truncated = true
		l.owner.malformed = true
		return
	}
	if f.value.Kind != source.List {
		r.wrongType(f, "a list of steps")
		return
	}
	for i, item := range r.list(f) {
		s := &step{in: l, index: i, where: item}
		l.items = append(l.items, s)
		switch {
		case item.value.Kind == source.Map:
			r.step(s, depth)
		case item.value.IsScalar() && !item.value.IsNull() && l.kind == branchList:
			r.jump(s)
		default:
			d := r.diags.Errorf(item.span, item.path, codeWrongType, "%s: a step must be a map, got %s", s.title(),
				describe(item.value))
			d.Hint = "write `- type: agent` and below it `name: <agent>`"
			l.items = l.items[:len(l.items)-1]
		}
	}
}

// jump reads a bare scalar in a branch (S4-18).
func (r *reader) jump(s *step) {
	s.kind, s.bare = jump, true
	if n, ok := wholeNumber(s.where.value); ok {
		s.at = n
		return
	}
	if s.wanted, _ = stringOf(s.where.value); s.wanted == "" {
		d := r.diags.Errorf(s.span(), s.path(), codeUnknownTarget, "%s: %s is neither a step's id nor an index",
			s.title(), describe(s.where.value))
		d.Hint = "write the id of a step, or its place counted from 0"
		s.broken = true
	}
}

// step reads one step. It reads the type first because the type determines the meaning of the other
// keys.
func (r *reader) step(s *step, depth int) {
	keys := r.fieldsOf(s.where)
	typ := find(keys, "type")
	word := ""
	if typ != nil {
		word = r.text(*typ)
	}
	known := word != ""
	if i := slices.Index(stepTypes(), word); i >= 0 {
		s.kind = kind(i)
	} else {
		known = false
	}
	s.bare = typ == nil
	for _, f := range keys {
		r.stepKey(s, f, known, depth)
	}
	if s.bare && s.written && s.in.kind == branchList && s.name == "" &&
		!slices.ContainsFunc(s.cases, func(c *choice) bool { return c.text != "" }) {
		s.untyped = true // a jump back if an earlier step has the id (S4-8 b), else a separate error
		return
	}
	s.malformed = s.malformed || slices.ContainsFunc(keys, func(f field) bool {
		list := slices.Contains([]string{"steps", "true", "false", "else", "reject", "limit"}, f.key)
		text := slices.Contains([]string{"name", "condition", "tool", "workflow"}, f.key)
		fields := slices.Contains([]string{"values", "args", "schema"}, f.key)
		return text && !f.value.IsScalar() || list && f.value.Kind == source.Map || fields && f.value.Kind != source.Map
	})
	r.checkStep(s, word, typ, known)
}

// otherTypes maps other engines' words for step types to ours.
var otherTypes = map[string]kind{
	"llm": agentStep, "prompt": agentStep, "model": agentStep,
	"if": conditionStep, "branch": switchStep, "router": switchStep, "choice": switchStep, "case": switchStep,
	"fork": parallelStep, "fan_out": parallelStep, "concurrent": parallelStep,
	"foreach": mapStep, "for_each": mapStep, "for": mapStep, "loop": mapStep, "iterate": mapStep, "iteration": mapStep,
	"human": askStep, "input": askStep, "question": askStep, "interrupt": approvalStep, "review": approvalStep,
	"gate": approvalStep,
	"http": toolStep, "function": toolStep, "action": toolStep, "script": toolStep, "shell": toolStep, "mcp": toolStep,
	"assign": setStep, "transform": setStep, "delay": sleepStep, "wait": sleepStep, "event": signalStep,
	"subflow": workflowStep, "subworkflow": workflowStep,
}

// typeHint returns a hint on what to write instead of an unknown type.
func typeHint(word string) string {
	if hint := diag.DidYouMean(word, stepTypes()); hint != "" && word != "" {
		return hint
	}
	list := "the types are " + strings.Join(stepTypes(), ", ")
	if kind, ok := otherTypes[strings.ReplaceAll(strings.ToLower(word), "-", "_")]; ok {
		return fmt.Sprintf("write `type: %s`; %s", kind, list)
	}
	return list
}

// checkStep reports what a step lacks, in the terms of S4-2.
func (r *reader) checkStep(s *step, word string, typ *field, known bool) {
	at := s.span()
	switch {
	case !known:
		if typ != nil {
			at = typ.value.Span
		}
		d := r.diags.Errorf(at, s.path()+".type", codeBadStep, "%s: unknown type %q", s.title(), word)
		d.Hint = typeHint(word)
		s.broken = true
	case s.malformed: // already reported at its position
		s.broken = true
		return
	case s.kind == agentStep && s.name == "":
		r.diags.Errorf(at, s.path(), codeBadStep, "%s: agent step requires name",
			s.title()).Hint = "name an agent of the section agents"
		s.broken = true
	case s.kind == conditionStep && strings.TrimSpace(s.only().text) == "":
		r.diags.Errorf(at, s.path(), codeBadStep, "%s: condition step requires condition", s.title()).Hint =
			`for example condition: "{{ $steps.<id>.output.approved }}"`
		s.broken = true
	}
	if !known {
		return
	}
	switch s.kind {
	case conditionStep:
		if s.only().then.empty() && s.no.empty() {
			r.diags.Errorf(at, s.path(), codeBadStep, "%s: condition step requires true or false", s.title()).Hint =
				"give at least one of the two branches a step" // S4-38
		}
		if s.retry != nil {
			r.diags.Errorf(at, s.path()+".retry", codeBadStep, "%s: a condition cannot be retried", s.title()).Hint =
				"put the retry on the step that the condition reads" // S4-24
			s.retry = nil
		}
	case switchStep:
		if len(s.cases) == 0 {
			r.diags.Errorf(at, s.path(), codeBadStep, "%s: switch step requires cases", s.title()).Hint =
				`for example cases: [{when: "{{ $steps.<id>.output == 'x' }}", steps: […]}]`
			s.broken = true
		}
	case parallelStep:
		if s.children.empty() {
			r.diags.Errorf(at, s.path(), codeBadStep, "%s: parallel step requires steps", s.title())
			s.broken = true
		}
	}
	if !s.broken {
		r.checkExtension(s)
	}
}

func (l *list) empty() bool { return l == nil || len(l.items) == 0 }

func (r *reader) stepKey(s *step, f field, known bool, depth int) {
	if known && !slices.Contains(stepKeys[s.kind], f.key) && slices.Contains(allStepKeys, f.key) {
		r.diags.Errorf(f.span, f.path, codeUnknownKey, "%s: a step of type %s has no key %q", s.title(), s.kind,
			f.key).Hint = replacementKey(s.kind, f.key)
		return
	}
	switch f.key {
	case "type":
	case "id":
		s.idField = f
		s.id = r.text(f)
		s.written = s.id != ""
		switch {
		case s.written && strings.ContainsAny(s.id, "/"):
			r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s: the id %q holds a slash", s.title(), s.id).Hint =
				"use letters, digits, `_` and `-`"
			s.id = strings.ReplaceAll(s.id, "/", "_")
		case len(s.id) > maxIDBytes:
			r.tooLong(f, &s.id)
		case f.value.IsScalar() && s.id == "":
			r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s: the id is empty",
				s.title()).Hint = "leave it out, or write one"
		}
	case "name":
		s.name, s.nameField = r.text(f), f
		if len(s.name) > maxIDBytes {
			r.tooLong(f, &s.name)
		}
	case "prompt":
		if s.more.prompt = f; s.kind == approvalStep || s.kind == askStep {
			return
		}
		if s.prompt = r.text(f); strings.TrimSpace(s.prompt) == "" && f.value.IsScalar() {
			r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s: the prompt is empty",
				s.title()).Hint = "leave it out, or write {{PREVIOUS_OUTPUT}} for the previous output"
		}
	case "condition":
		c := s.only()
		c.text, c.value, c.path = r.condition(f), f.value, f.path
	case "retry":
		s.retry = r.retry(s, f)
	case "budget":
		b, _ := r.budget(f, s.title(), false)
		s.budget = &b
	case "steps":
		if s.kind == mapStep {
			s.body = &list{kind: bodyList, owner: s}
			r.items(s.body, f, depth+1)
			return
		}
		s.children = &list{kind: lanes, owner: s}
		r.items(s.children, f, depth+1)
	case "true":
		s.only().then = &list{kind: branchList, owner: s, port: workflow.PortTrue}
		r.branch(s.only().then, f, depth+1)
	case "false":
		s.no = &list{kind: branchList, owner: s, port: workflow.PortFalse}
		r.branch(s.no, f, depth+1)
	case "cases":
		r.choices(s, f, depth+1)
	case "else":
		s.no = &list{kind: branchList, owner: s, port: PortElse}
		r.branch(s.no, f, depth+1)
	default:
		if !r.extensionKey(s, f, depth) {
			r.unknown(f, diag.Error, s.title(), allStepKeys)
		}
	}
}

// only returns the case of a condition.
func (s *step) only() *choice {
	if s.cases == nil {
		s.cases = []*choice{{}}
	}
	return s.cases[0]
}

// PortElse is the port of a switch that is fired if none of its cases holds.
const PortElse = "else"

// CasePort returns the port of a case of a switch; the first case has the index 0.
func CasePort(i int) string { return "case-" + strconv.Itoa(i) }

// choices reads the cases of a switch.
func (r *reader) choices(s *step, f field, depth int) {
	if f.value.Kind != source.List {
		r.wrongType(f, "a list of cases")
		s.malformed = true
		return
	}
	for i, item := range r.list(f) {
		c := &choice{path: item.path + ".when"}
		s.cases = append(s.cases, c)
		if item.value.Kind != source.Map {
			r.wrongType(item, "a map with when and steps")
			s.malformed = true
			continue
		}
		for _, g := range r.fields(item.value) {
			switch g.key {
			case "when":
				if c.text, c.value = r.condition(g), g.value; !g.value.IsScalar() {
					s.malformed = true
				}
			case "steps":
				c.then = &list{kind: branchList, owner: s, port: CasePort(i), name: fmt.Sprintf("cases[%d].steps", i)}
				r.branch(c.then, g, depth)
				s.malformed = s.malformed || g.value.Kind == source.Map
			default:
				r.unknown(g, diag.Error, fmt.Sprintf("%s.cases[%d]", s.title(), i), caseKeys)
			}
		}
		if strings.TrimSpace(c.text) == "" && (c.value == nil || c.value.IsScalar()) {
			r.diags.Errorf(item.span, item.path, codeBadStep, "%s: cases[%d] requires when", s.title(), i).Hint =
				`for example when: "{{ $steps.<id>.output == 'x' }}"; what follows if no case holds is else`
			s.malformed = true
		}
	}
}

func (r *reader) tooLong(f field, text *string) {
	r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s is longer than %d bytes", f.path, maxIDBytes)
	*text = strings.ToValidUTF8((*text)[:maxIDBytes], "")
}

// branch reads a list of steps, or one bare scalar (S4-18).
func (r *reader) branch(l *list, f field, depth int) {
	if !f.value.IsScalar() || f.value.IsNull() {
		r.items(l, f, depth)
		return
	}
	l.scalar = true
	s := &step{in: l, where: f}
	l.items = append(l.items, s)
	r.jump(s)
}

// condition reads the source of a condition; a bare true or false is also a condition.
func (r *reader) condition(f field) string {
	if b, ok := f.value.Bool(); ok {
		if b {
			return "true"
		}
		return "false"
	}
	return r.text(f)
}

// retry reads `retry:` (S4-20 to S4-24).
func (r *reader) retry(s *step, f field) *workflow.Retry {
	out := &workflow.Retry{}
	if f.value.Kind != source.Map {
		r.wrongType(f, "a map with max_attempts")
		return nil
	}
	for _, g := range r.fields(f.value) {
		switch g.key {
		case "max_attempts":
			out.MaxRetries = r.notNegative(g)
		case "backoff":
			r.backoff(out, g)
		case "on":
			out.On = r.texts(g)
		default:
			r.unknown(g, diag.Error, s.title()+".retry", retryKeys)
		}
	}
	return out
}

func (r *reader) backoff(out *workflow.Retry, f field) {
	word, delay := "fixed", time.Second
	at := f
	if f.value.Kind == source.Map {
		for _, g := range r.fields(f.value) {
			switch g.key {
			case "type":
				word, at = r.text(g), g
			case "initial_delay_seconds":
				if secs, ok := r.float(g); ok && (secs < 0 || secs > 1e6) {
					r.diags.Errorf(g.value.Span, g.path, codeBadValue,
						"initial_delay_seconds must lie between 0 and 1000000, got %g", secs)
				} else if ok {
					delay = time.Duration(secs * float64(time.Second))
				}
			default:
				r.unknown(g, diag.Error, "backoff", backoffKeys)
			}
		}
	} else {
		word = r.text(f)
	}
	switch word {
	case "fixed":
	case "exponential":
		out.Multiplier = 2
	default:
		d := r.diags.Errorf(at.value.Span, at.path, codeBadValue, "backoff is %q, not one of fixed, exponential", word)
		d.Hint = diag.DidYouMean(word, []string{"fixed", "exponential"})
	}
	out.Delay = workflow.Duration(delay)
}
