package nodes

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/workflow"
)

// Settings are the document form of a node's settings.
type Settings struct {
	Tool        string          `json:"tool,omitempty"`
	Args        json.RawMessage `json:"args,omitempty"`
	Workflow    string          `json:"workflow,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Values      json.RawMessage `json:"values,omitempty"`
	Prompt      string          `json:"prompt,omitempty"`
	Options     []string        `json:"options,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Deadline    string          `json:"deadline,omitempty"`
	OnDeadline  json.RawMessage `json:"on_deadline,omitempty"`
	RemindAfter string          `json:"remind_after,omitempty"`
	Roles       []string        `json:"roles,omitempty"`
	OnReject    string          `json:"on_reject,omitempty"`
	If          string          `json:"if,omitempty"`
	Timeout     string          `json:"timeout,omitempty"`
	CallTimeout string          `json:"call_timeout,omitempty"`
	Retry       json.RawMessage `json:"retry,omitempty"`
	OnError     json.RawMessage `json:"on_error,omitempty"`
}

// IsZero reports whether there are none.
func (s *Settings) IsZero() bool {
	raw, err := json.Marshal(s)
	return err == nil && string(raw) == "{}"
}

// Type returns the type of a node that [Write] supports, or "" for other nodes.
func Type(n *workflow.Node) string {
	switch {
	case n.Tool != nil && n.Tool.Workflow != "":
		return Workflow
	case n.Tool != nil:
		return Tool
	case n.Set != nil:
		return Set
	case n.Wait != nil && n.Wait.Kind == workflow.WaitApproval:
		return Approval
	case n.Wait != nil && n.Wait.Kind == workflow.WaitQuestion:
		return Ask
	}
	return ""
}

// Edges tells [Write] what it needs to know in addition to a node: which edges leave it, and gates
// as for [Settle].
type Edges struct{ Error, Reject, Gates bool }

// Write returns the settings of a node whose [Type] is not "". What they cannot express is reported
// to unsupported.
func Write(n *workflow.Node, edges Edges, unsupported func(format string, args ...any)) Settings {
	var s Settings
	switch Type(n) {
	case Workflow:
		s.Workflow = n.Tool.Workflow
		var args map[string]json.RawMessage
		if err := json.Unmarshal(n.Tool.Args, &args); err != nil || len(args) != 1 || args["input"] == nil {
			unsupported("arguments in addition to the input")
		} else if string(args["input"]) != previousInput {
			s.Input = args["input"]
		}
	case Tool:
		s.Tool = n.Tool.Tool
		if len(n.Tool.Args) == 0 {
			unsupported("that its arguments are its input")
		} else if string(n.Tool.Args) != "{}" {
			s.Args = n.Tool.Args
		}
	case Set:
		if s.Values = n.Set.Value; !bytes.HasPrefix(bytes.TrimSpace(s.Values), []byte("{")) {
			unsupported("a value that is not an object")
		}
	case Ask, Approval:
		s.asked(n.Wait, unsupported)
	}
	if Type(n) != Approval {
		s.policies(n, edges.Error, unsupported)
		return s
	}
	s.rejected(n.Wait, edges, unsupported)
	if n.If != nil {
		unsupported("its condition")
	}
	if n.Catch != nil {
		unsupported("that the run continues if it fails")
	}
	return s
}

func (s *Settings) asked(w *workflow.Wait, unsupported func(format string, args ...any)) {
	s.Roles = w.Roles
	if s.Prompt, s.Options = w.Prompt, w.Options; w.Kind == workflow.WaitQuestion && w.Prompt == "" {
		unsupported("a question without a prompt")
	}
	enum, _ := json.Marshal(map[string]any{"enum": w.Options}) // strings always marshal
	switch {
	case len(w.Options) == 0:
		s.Schema = w.Schema
	case !bytes.Equal(w.Schema, enum):
		unsupported("that answers other than its options are accepted")
	}
	if w.Deadline > 0 {
		s.Deadline = time.Duration(w.Deadline).String()
	}
	if w.Remind > 0 {
		s.RemindAfter = time.Duration(w.Remind).String()
	}
	switch {
	case len(w.Default) > 0:
		s.OnDeadline = byDefault(w.Default)
	case w.OnDeadline != "":
		s.OnDeadline = word(w.OnDeadline)
	}
}

// rejected sets what follows a rejection.
func (s *Settings) rejected(w *workflow.Wait, edges Edges, unsupported func(format string, args ...any)) {
	switch {
	case edges.Reject && w.FailReject:
		unsupported("that it fails if a person rejects, although it has an edge from the port reject")
	case edges.Reject:
	case w.FailReject && !edges.Gates:
		s.OnReject = wordFail
	case !w.FailReject && edges.Gates:
		s.OnReject = wordEnd
	}
}

func (s *Settings) policies(n *workflow.Node, caught bool, unsupported func(format string, args ...any)) {
	if n.If != nil {
		if s.If = n.If.Text; n.If.Language != workflow.LangExpr {
			unsupported("its condition")
		}
	}
	if n.Timeout > 0 {
		s.Timeout = time.Duration(n.Timeout).String()
	}
	if n.CallTimeout > 0 {
		s.CallTimeout = time.Duration(n.CallTimeout).String()
	}
	if n.Retry != nil {
		var ok bool
		if s.Retry, ok = writeRetry(n.Retry); !ok {
			unsupported("how it is tried again")
		}
	}
	switch c := n.Catch; {
	case c == nil && caught:
		unsupported("that its error edge is followed without its failure being kept")
	case c == nil:
	case c.Port == workflow.PortError && !caught:
		unsupported("that a failure ends its path")
	case c.Port == workflow.PortError:
	case len(c.Default) > 0:
		s.OnError = byDefault(c.Default)
	default:
		s.OnError = word(wordContinue)
	}
}

func word(w string) json.RawMessage { return json.RawMessage(`"` + w + `"`) }

func byDefault(v json.RawMessage) json.RawMessage {
	return append(append(json.RawMessage(`{"default":`), v...), '}')
}

// Declared is the document form of the keys of [DocumentKeys].
type Declared struct {
	Inputs       json.RawMessage `json:"inputs,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
}

// WriteDocument returns the keys of a graph. A graph without inputs whose prompts have expressions
// gets empty inputs. plain means that the prompts of approvals, too, are plain if there are no
// inputs.
func WriteDocument(w *workflow.Workflow, plain bool) Declared {
	d := Declared{Inputs: inputs.JSON(w.Inputs), Output: w.Output, OutputSchema: w.OutputSchema}
	if d.Inputs == nil && hasPromptExpressions(w, plain) {
		d.Inputs = json.RawMessage("{}")
	}
	return d
}

// Tools is the document form of the keys of [SharedKeys].
type Tools struct {
	Toolsets    []json.RawMessage      `json:"toolsets,omitempty"`
	Permissions []workflow.Permissions `json:"permissions,omitempty"`
}

// WriteTools returns the tools of the nodes of w.
func WriteTools(w *workflow.Workflow) Tools { return Tools{w.Toolsets, w.Permissions} }

// OwnPermissions returns the permissions of an agent in addition to those of the document, or false
// if the latter do not apply to it.
func OwnPermissions(all []workflow.Permissions, a *workflow.Agent) ([]workflow.Permissions, bool) {
	n := len(all)
	if n == 0 {
		return a.Permissions, true
	}
	if len(a.Permissions) < n || !reflect.DeepEqual(a.Permissions[:n], all) {
		return a.Permissions, false
	}
	return slices.Clip(a.Permissions[n:]), true
}

// ReportPrompts records prompts of w whose braces a document with the keys of [WriteDocument] would
// interpret differently.
func ReportPrompts(w *workflow.Workflow, plain bool, unsupported func(n *workflow.Node, format string, args ...any)) {
	holds := len(w.Inputs) > 0 || hasPromptExpressions(w, plain)
	for i := range w.Nodes {
		n := &w.Nodes[i]
		var (
			text        string
			expressions bool
		)
		switch Type(n) {
		case "":
			if n.Agent == nil || n.Agent.Prompt.Mode != workflow.PromptTemplate &&
				n.Agent.Prompt.Mode != workflow.PromptTurns {
				continue
			}
			text, expressions = n.Agent.Prompt.Text, n.Agent.Prompt.Expressions
		case Approval, Ask:
			if text, expressions = n.Wait.Prompt, n.Wait.Template; !plain || Type(n) == Ask {
				if !expressions && HasExpressions(text) {
					unsupported(n, "a prompt without expressions")
				}
				continue
			}
		default:
			continue
		}
		switch {
		case expressions && !HasExpressions(text):
			unsupported(n, "that its prompt is read for expressions")
		case holds && !expressions && HasExpressions(text):
			unsupported(n, "a prompt whose double braces are sent as they are")
		}
	}
}

// hasPromptExpressions reports whether any prompt of w has expressions, among those that are plain
// in documents without inputs.
func hasPromptExpressions(w *workflow.Workflow, plain bool) bool {
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Agent != nil && n.Agent.Prompt.Expressions || plain && Type(n) == Approval && n.Wait.Template &&
			HasExpressions(n.Wait.Prompt) {
			return true
		}
	}
	for i := range w.Agents {
		if w.Agents[i].Template {
			return true
		}
	}
	return false
}
