package nodes

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
)

// Types of nodes that call no model, in the order of messages. They include approvals, for which
// canvas documents have rules of their own.
const (
	Tool     = "tool"
	Workflow = "workflow"
	Set      = "set"
	Ask      = "ask"
	Approval = "approval"
)

// Types returns the types. The caller owns the slice.
func Types() []string { return []string{Tool, Workflow, Set, Ask, Approval} }

// Keys returns the keys of the settings of a type, or nil for an unknown type. The caller owns the
// slice.
func Keys(typ string) []string {
	work := policyKeys()
	asked := []string{"deadline", "on_deadline", "remind_after", "roles"}
	switch typ {
	case Tool:
		return append([]string{"tool", "args"}, work...)
	case Workflow:
		return append([]string{"workflow", "input"}, work...)
	case Set:
		return []string{"values", "if", "on_error"}
	case Ask:
		return slices.Concat([]string{"prompt", "options", "schema"}, asked, []string{"if", "on_error"})
	case Approval:
		return slices.Concat([]string{"prompt", "on_reject"}, asked)
	}
	return nil
}

// policyKeys returns the keys that determine whether and how long a node runs, and what follows its
// failure.
func policyKeys() []string { return []string{"if", "timeout", "call_timeout", "retry", "on_error"} }

// Misplaced reports policies of a node whose type has none: without them the node would run where
// it was meant not to. known are the keys of the type; hint says what replaces `if`.
func Misplaced(typ, id string, f *source.Fields, known []string, diags *diag.List, hint string) {
	for _, key := range policyKeys() {
		e := f.Node().Entry(key)
		if e == nil || e.Value.IsNull() || slices.Contains(known, key) ||
			key == "timeout" && slices.Contains(known, "deadline") {
			continue
		}
		f.Get(key)
		d := diags.Errorf(e.KeySpan, e.Value.Path(), codeMisplaced, "%s%s node has no %s", prefix(id), article(typ),
			key)
		switch {
		case key == "if":
			d.Hint = hint
		case typ == "agent":
			d.Hint = "remove it, or write a steps document, in which agents have " + key
		case key == "on_error":
			d.Hint = "remove it: if the node fails, the run fails"
		default:
			d.Hint = "remove it: the node makes no calls"
		}
	}
}

// prefix returns the beginning of messages about a node, which is empty if its id is.
func prefix(id string) string {
	if id == "" {
		return ""
	}
	return "node " + strconv.Quote(id) + ": "
}

// requiredKeys are the required keys of the settings of a type, with an example of each.
var requiredKeys = map[string][2]string{
	Tool:     {"tool", `for example "tool": "fetch"`},
	Workflow: {"workflow", `name a stored workflow or a file, for example "workflow": "./summary.yaml"`},
	Set:      {"values", `for example "values": {"total": "{{ $steps.ID.output.total }}"}`},
	Ask:      {"prompt", "write the question"},
}

// Needs returns the required keys of the settings of a type.
func Needs(typ string) []string {
	if n, ok := requiredKeys[typ]; ok {
		return []string{n[0]}
	}
	return nil
}

// DocumentKeys returns the keys of a document, or of a branch, that every graph has separately.
func DocumentKeys() []string { return []string{"inputs", "output", "output_schema"} }

// SharedKeys returns the keys that the document has for all its graphs.
func SharedKeys() []string { return []string{"toolsets", "permissions"} }

// Values of on_error, on_deadline and on_reject.
const (
	wordFail     = "fail"
	wordContinue = "continue"
	wordDefault  = "default"
	wordEnd      = "end"
)

// Codes of this package's diagnostics.
const (
	codeBadNode    = "bad-step"
	codeBadValue   = "bad-value"
	codeBadSchema  = "bad-schema"
	codeUnknownKey = "unknown-key"
	codeConstant   = "condition-constant"
	codePlain      = "not-replaced"
	codeNoEffect   = "no-effect"
	codeMisplaced  = "misplaced-key"
)
