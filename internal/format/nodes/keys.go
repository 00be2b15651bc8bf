package nodes

import "slices"

// Types of nodes that ask no model, in the order of messages. Approvals are among them, which canvas documents have by their own rules.
const (
	Tool     = "tool"
	Workflow = "workflow"
	Set      = "set"
	Ask      = "ask"
	Approval = "approval"
)

// Types gives the types. The slice is the caller's own.
func Types() []string { return []string{Tool, Workflow, Set, Ask, Approval} }

// Keys gives the keys of the settings of a type, nil for another one. The slice is the caller's own.
func Keys(typ string) []string {
	work := []string{"if", "timeout", "call_timeout", "retry", "on_error"}
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

// needs are the keys that the settings of a type must have, with an example of each.
var needs = map[string][2]string{
	Tool: {"tool", `for example "tool": "fetch"`}, Workflow: {"workflow", `name a stored workflow or a file, for example "workflow": "./summary.yaml"`},
	Set: {"values", `for example "values": {"total": "{{ $steps.ID.output.total }}"}`}, Ask: {"prompt", "write the question"},
}

// Needs gives the keys that the settings of a type must have.
func Needs(typ string) []string {
	if n, ok := needs[typ]; ok {
		return []string{n[0]}
	}
	return nil
}

// DocumentKeys gives the keys of a document, or of a branch, that every graph has for itself; SharedKeys those that the document has for all its graphs.
func DocumentKeys() []string { return []string{"inputs", "output", "output_schema"} }

// SharedKeys are described at [DocumentKeys].
func SharedKeys() []string { return []string{"toolsets", "permissions"} }

// Words of on_error, on_deadline and on_reject.
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
)
