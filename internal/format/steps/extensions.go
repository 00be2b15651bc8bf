package steps

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// extension is the part of a step that goes beyond S4: the rules X. Absent fields are zero.
type extension struct {
	cond      field // `if`
	args      field // of a tool step
	input     field // of a workflow step
	values    field // of a set step
	output    field // of an end step
	message   field // of an end step
	rest      field // of a sleep step: for or until
	signal    string
	filter    field // of a signal step
	status    string
	prompt    field // of an approval or a question
	options   []string
	schema    field
	timeout   workflow.Duration
	ofCalls   workflow.Duration // call_timeout
	deadline  workflow.Duration
	remind    workflow.Duration
	roles     []string
	onError   follow
	onLate    follow // at the deadline
	onReject  string
	join      string
	quorum    int
	quorumKey field
	over      field // of a map
	as        string
	atOnce    int
	onItem    string
}

// follow is what follows a failure or a deadline.
type follow struct {
	word   string // fail, continue, default, goto, approve or reject; "" if absent
	value  field  // of default
	wanted string // of goto: the id
	target *step
	at     field
}

// Values of follow.word.
const (
	wordFail     = "fail"
	wordContinue = "continue"
	wordDefault  = "default"
	wordGoto     = "goto"
	wordEnd      = "end"
)

// extensionKey reads a key of an extension; it returns false if f is not one.
func (r *reader) extensionKey(s *step, f field, depth int) bool {
	x := &s.more
	switch f.key {
	case "if":
		x.cond = f
	case "tool":
		s.name, s.nameField = r.text(f), f
		if len(s.name) > maxIDBytes {
			r.tooLong(f, &s.name)
		}
	case "workflow":
		r.called(s, f)
	case "input":
		x.input = f
	case "args":
		x.args = r.mapValue(f)
	case "values":
		x.values = r.mapValue(f)
	case "output":
		x.output = f
	case "message":
		x.message = f
	case "for", "until":
		if x.rest.value != nil {
			r.diags.Errorf(f.span, f.path, codeBadStep, "%s: a sleep has for or until, not both", s.title())
			return true
		}
		if x.rest = f; !f.value.IsScalar() || f.value.IsNull() {
			r.wrongType(f, "a string")
			s.malformed = true
		}
	case "signal":
		x.signal = r.signalName(s, f)
	case "filter":
		x.filter = f
	case "status":
		x.status = r.oneOf(f, workflow.EndCompleted, workflow.EndFailed)
	case "timeout":
		x.timeout = r.duration(f)
	case "call_timeout":
		x.ofCalls = r.duration(f)
	case "on_error":
		x.onError = r.follow(f, wordFail, wordContinue, wordDefault, wordGoto)
	case "join":
		x.join = r.oneOf(f, workflow.UntilAll, workflow.UntilAny, workflow.UntilRace, workflow.UntilQuorum)
	case "quorum":
		x.quorum, x.quorumKey = r.notNegative(f), f
	case "over":
		x.over = f
	case "as":
		if x.as = r.text(f); f.value.IsScalar() && !workflow.IsItemName(x.as) {
			r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s: %q cannot be the name of the item", s.title(),
				x.as).Hint = "use letters, digits and `_`, and no name that means something else, for example `as: " +
				"invoice`"
			x.as = ""
		}
	case "max_concurrency":
		if x.atOnce = r.integer(f); f.value.IsScalar() && x.atOnce < 1 {
			r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s: max_concurrency must be 1 or more",
				s.title()).Hint = fmt.Sprintf("leave it out for %d items at a time", workflow.DefaultMapConcurrency)
			x.atOnce = 0
		}
	case "on_item_error":
		x.onItem = r.oneOf(f, workflow.FailFast, workflow.FailSkip, workflow.FailCollect)
	case "limit":
		s.limit = &list{kind: branchList, owner: s, port: workflow.PortLimit}
		if r.branch(s.limit, f, depth+1); s.limit.empty() && !s.malformed {
			r.diags.Errorf(f.span, f.path, codeBadStep, "%s: limit has no steps",
				s.title()).Hint = "write the steps that follow where max_loop_iterations is met, or the id of one"
		}
	default:
		return r.waitKey(s, f, depth)
	}
	return true
}

// waitKey reads a key of steps that wait for a person or a signal; it returns false if f is not
// one.
func (r *reader) waitKey(s *step, f field, depth int) bool {
	x := &s.more
	switch f.key {
	case "options":
		x.options = r.answers(f)
	case "schema":
		x.schema = r.mapValue(f)
	case "deadline":
		x.deadline = r.duration(f)
	case "remind_after":
		x.remind = r.duration(f)
	case "roles":
		x.roles = r.roles(f)
	case "on_deadline":
		if s.kind == approvalStep {
			x.onLate = r.follow(f, wordFail, workflow.PortApprove, workflow.PortReject, wordGoto)
		} else {
			x.onLate = r.follow(f, wordFail, wordDefault, wordGoto)
		}
	case "on_reject":
		x.onReject = r.oneOf(f, wordFail, wordEnd)
	case "reject":
		s.no = &list{kind: branchList, owner: s, port: workflow.PortReject}
		r.branch(s.no, f, depth+1)
	default:
		return false
	}
	return true
}

// replacementKey returns what a step of a kind has in place of a key; "" means nothing.
func replacementKey(k kind, key string) string {
	switch {
	case key == "timeout" && (k == approvalStep || k == askStep):
		return "write deadline: it is for how long a person has"
	case key == "timeout" && k == signalStep:
		return "write deadline: it is until when a signal must come"
	case key == "timeout" && k == sleepStep:
		return "for or until says how long it lasts"
	case key == "call_timeout" && k == parallelStep:
		return "write it at the steps that make the calls, or timeout for the block as a whole"
	}
	return ""
}

// called reads what a workflow step runs.
func (r *reader) called(s *step, f field) {
	text := r.text(f)
	if _, ok := workflow.ParseCall(text); text != "" && !ok {
		r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s: %q names no workflow", s.title(),
			text).Hint = "write ID, ID@VERSION, or a path relative to this document that begins with ./ or ../"
		s.broken = true
		text = ""
	}
	if s.name, s.nameField = text, f; len(s.name) > maxIDBytes {
		r.tooLong(f, &s.name)
	}
}

// signalName reads the name of a signal.
func (r *reader) signalName(s *step, f field) string {
	name := r.text(f)
	if f.value.IsScalar() && !workflow.SignalName(name) {
		r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s: invalid name of a signal %.80q", s.title(), name).Hint =
			fmt.Sprintf("use letters, digits, `.`, `_` and `-`, at most %d; which signals of the name are meant is "+
				"said by filter", workflow.MaxSignalName)
	}
	return name
}

func (r *reader) mapValue(f field) field {
	if f.value.Kind != source.Map {
		r.wrongType(f, "a map")
		return field{}
	}
	return f
}

func (r *reader) oneOf(f field, words ...string) string {
	word := r.text(f)
	if f.value.IsScalar() && !slices.Contains(words, word) {
		d := r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s is %q, not one of %s", f.key, word,
			strings.Join(words, ", "))
		d.Hint = diag.DidYouMean(word, words)
		return ""
	}
	return word
}

// answers reads the options of a question: strings, at least one, without duplicates.
func (r *reader) answers(f field) []string {
	out := r.texts(f)
	for i, o := range out {
		if strings.TrimSpace(o) == "" || slices.Contains(out[:i], o) {
			r.diags.Errorf(f.value.Span, f.path, codeBadValue, "the option %q is empty or there twice", o)
			return out[:i]
		}
	}
	if len(out) == 0 && f.value.Kind == source.List {
		r.diags.Errorf(f.value.Span, f.path, codeBadValue,
			"there are no options").Hint = "leave the key out for any answer"
	}
	return out
}

// roles reads the roles that may answer. An empty list is rejected, since it could mean a wait that
// everybody may answer, or one that nobody can.
func (r *reader) roles(f field) []string {
	out := r.texts(f)
	for i, o := range out {
		if o == "" || o != strings.TrimSpace(o) || len(o) > workflow.MaxRoleSize || slices.Contains(out[:i], o) {
			r.diags.Errorf(f.value.Span, f.path, codeBadValue,
				"the role %q is empty, has whitespace around it, is too long or there twice", o)
			return out[:i]
		}
	}
	switch {
	case len(out) == 0 && f.value.Kind == source.List:
		r.diags.Errorf(f.value.Span, f.path, codeBadValue, "there are no roles").Hint = "leave the key out for all " +
			"who may answer"
	case len(out) > workflow.MaxRoles:
		r.diags.Errorf(f.value.Span, f.path, codeBadValue, "there are %d roles, and at most %d are allowed", len(out),
			workflow.MaxRoles)
	}
	return out
}

// duration reads a duration such as 90s, 1h30m or 2d; a number alone is in seconds.
func (r *reader) duration(f field) workflow.Duration {
	d, err := workflow.ParseDuration(r.text(f))
	if f.value.IsScalar() && err != nil {
		r.diags.Errorf(f.value.Span, f.path, codeBadValue, "invalid duration %q",
			f.value.Text).Hint = "write a time such as 90s, 1h30m or 2d, 3650d at most"
	}
	return d
}

// follow reads a word, `{default: VALUE}` or `{goto: ID}`, as far as words allows.
func (r *reader) follow(f field, words ...string) follow {
	out := follow{at: f}
	plain := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == wordDefault || w == wordGoto })
	if f.value.IsScalar() {
		out.word = r.oneOf(f, plain...)
		return out
	}
	forms := slices.Clone(plain)
	for _, w := range words {
		switch w {
		case wordDefault:
			forms = append(forms, "{default: VALUE}")
		case wordGoto:
			forms = append(forms, "{goto: ID}")
		}
	}
	var keys []field
	if f.value.Kind == source.Map {
		keys = r.fields(f.value)
	}
	if len(keys) != 1 || keys[0].key != wordGoto &&
		(keys[0].key != wordDefault || !slices.Contains(words, wordDefault)) {
		r.diags.Errorf(f.value.Span, f.path, codeBadValue, "%s must be one of %s", f.key, strings.Join(forms, ", "))
		return out
	}
	g := keys[0]
	if g.key == wordDefault {
		out.word, out.value = wordDefault, g
		return out
	}
	if out.word, out.wanted, out.at = wordGoto, r.text(g), g; out.wanted == "" {
		r.diags.Errorf(g.span, g.path, codeUnknownTarget, "goto names no step")
	}
	return out
}

// checkExtension reports what is missing from a step of an extension.
func (r *reader) checkExtension(s *step) {
	x, at := &s.more, s.span()
	lacks := func(key, hint string) {
		r.diags.Errorf(at, s.path(), codeBadStep, "%s: %s step requires %s", s.title(), s.kind, key).Hint = hint
		s.broken = true
	}
	switch {
	case s.kind == toolStep && s.name == "":
		lacks("tool", "name a tool of the section toolsets, for example `tool: fetch`")
	case s.kind == workflowStep && s.name == "":
		lacks("workflow", "name a stored workflow or a file, for example `workflow: ./summary.yaml`")
	case s.kind == setStep && x.values.value == nil:
		lacks("values", "for example `values: {total: \"{{ $steps.<id>.output.total }}\"}`")
	case s.kind == sleepStep && x.rest.value == nil:
		lacks("for or until", "for example `for: 90s` or `until: \"{{ $steps.<id>.output.time }}\"`")
	case s.kind == mapStep && x.over.value == nil:
		lacks("over", "for example `over: \"{{ $steps.<id>.output.items }}\"`")
	case s.kind == mapStep && s.body.empty():
		lacks("steps", "write the steps that run for each item")
	case s.kind == signalStep && x.signal == "":
		lacks("signal", "name it, for example `signal: payment`")
	case s.kind == askStep && x.prompt.value == nil:
		lacks("prompt", "write the question")
	}
	if s.kind == askStep && len(x.options) > 0 && x.schema.value != nil {
		r.diags.Errorf(x.schema.span, x.schema.path, codeBadStep, "%s: a question has options or a schema, not both",
			s.title()).Hint = "write the options as an enum of the schema"
	}
	if s.kind == endStep && x.message.value != nil && x.status != workflow.EndFailed {
		r.diags.Errorf(x.message.span, x.message.path, codeBadStep, "%s: only a failed end has a message",
			s.title()).Hint = "write status: failed, or output in place of message"
	}
	if s.kind == endStep && x.output.value != nil && x.status == workflow.EndFailed {
		r.diags.Errorf(x.output.span, x.output.path, codeBadStep, "%s: a failed end has no output",
			s.title()).Hint = "write what happened in message"
	}
	if x.onLate.word != "" && x.deadline == 0 {
		r.diags.Errorf(x.onLate.at.span, x.onLate.at.path, codeBadStep, "%s: on_deadline requires deadline", s.title())
	}
	if x.onLate.word == workflow.PortReject && s.no.empty() {
		r.diags.Errorf(x.onLate.at.span, x.onLate.at.path, codeBadStep, "%s: on_deadline: reject requires reject",
			s.title()).Hint = "without one the step fails at the deadline, as with on_deadline: fail"
	}
	if x.onReject != "" && !s.no.empty() {
		r.diags.Errorf(at, s.path(), codeBadStep, "%s: on_reject and reject exclude each other",
			s.title()).Hint = "remove one of them"
	}
	if s.kind == parallelStep {
		r.checkJoin(s)
	}
	if x.schema.value != nil {
		if _, err := schema.Compile(r.json(x.schema)); err != nil {
			r.diags.Errorf(x.schema.value.Span, x.schema.path, codeBadSchema, "%s: invalid schema: %s", s.title(),
				strings.TrimPrefix(err.Error(), schema.ErrInvalid.Error()+": "))
			x.schema = field{}
		}
	}
}

func (r *reader) checkJoin(s *step) {
	x := &s.more
	switch n := len(s.children.steps()); {
	case x.join == workflow.UntilQuorum && x.quorumKey.value == nil:
		r.diags.Errorf(s.span(), s.path(), codeBadStep, "%s: join: quorum requires quorum",
			s.title()).Hint = "for example `quorum: 2`"
	case x.join != workflow.UntilQuorum && x.quorumKey.value != nil:
		r.diags.Errorf(x.quorumKey.span, x.quorumKey.path, codeBadStep, "%s: quorum requires join: quorum", s.title())
	case x.join == workflow.UntilQuorum && (x.quorum < 1 || x.quorum > n):
		r.diags.Errorf(x.quorumKey.value.Span, x.quorumKey.path, codeBadValue,
			"%s: quorum must be between 1 and %d, the number of steps, got %d", s.title(), n, x.quorum)
	}
}

func (l *list) steps() []*step {
	if l == nil {
		return nil
	}
	return l.items
}

// aimFollows finds the targets of on_error and on_deadline, and reports end steps inside parallel
// steps and maps.
func (r *reader) aimFollows(root *list) {
	root.walk(func(s *step) {
		if b := s.block(); s.kind == endStep && b != nil {
			word := map[bool]string{true: "map", false: "parallel step"}[b.kind == mapStep]
			r.diags.Errorf(s.span(), s.path(), codeBadStep, "%s: an end step cannot be inside of a %s", s.title(),
				word).Hint = "put it after the " + word
			s.broken = true
		}
		for _, f := range []*follow{&s.more.onError, &s.more.onLate} {
			if f.word == wordGoto && f.wanted != "" {
				f.target = r.aimFrom(s, f)
			}
		}
	})
}

// aimFrom finds the step that a goto names in a list around s, as [reader.aim] does for jumps.
func (r *reader) aimFrom(s *step, f *follow) *step {
	var names []string
	var left *list
	for at := s; at != nil; at = at.in.owner {
		t := at.in.byID[f.wanted]
		lane := at.in.kind == lanes
		if left == nil && lane && t != at {
			left = at.in
		}
		switch {
		case t == nil || t.kind == jump:
		case left != nil:
			what, hint := left.exitHint()
			r.diags.Errorf(f.at.value.Span, f.at.path, codeUnknownTarget, "%s: a jump to %s would leave %s", s.title(),
				t.title(), what).Hint = hint
			return nil
		case !t.written:
			d := r.diags.Errorf(f.at.value.Span, f.at.path, codeUnknownTarget,
				"%s: invalid target %q: only an id that is written in the document can be a target", s.title(),
				f.wanted)
			d.Hint = "write `id: " + f.wanted + "` on " + t.title()
			return nil
		default:
			return t
		}
		for _, t := range at.in.items {
			if t.written && t.kind != jump && left == nil && (!lane || t == at) {
				names = append(names, t.id)
			}
		}
		if left == nil && at.in.borders() {
			left = at.in
		}
	}
	d := r.diags.Errorf(f.at.value.Span, f.at.path, codeUnknownTarget, "%s: step %q not found in an enclosing list",
		s.title(), f.wanted)
	d.Hint = r.diags.similar(f.wanted, func() []string { return names })
	return nil
}

// exitHint describes what a jump out of l would leave, and how to fix that.
func (l *list) exitHint() (what, hint string) {
	if l.kind == bodyList {
		return "its map", "write on_error at the map"
	}
	return "its branch of a parallel block", "write on_error at the parallel step"
}

// isBehind reports whether s is at or after target, so that going there starts another iteration of
// a loop.
func (s *step) isBehind(target *step) bool {
	for at := s; at != nil; at = at.in.owner {
		if at.in == target.in {
			return at.in.place[target] <= at.in.place[at]
		}
	}
	return true
}

// catch returns what follows a failure in the form of the graph; nil means nothing.
func (f *follow) catch(value func(field) json.RawMessage) *workflow.Catch {
	switch f.word {
	case wordContinue:
		return &workflow.Catch{Port: workflow.PortOut}
	case wordDefault:
		return &workflow.Catch{Port: workflow.PortOut, Default: value(f.value)}
	case wordGoto:
		return &workflow.Catch{Port: workflow.PortError}
	}
	return nil
}

// continuesOnError reports whether the run continues if the step fails, so that other steps can
// read its failure.
func (s *step) continuesOnError() bool { return cmp.Or(s.more.onError.word, wordFail) != wordFail }
