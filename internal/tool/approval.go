package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/permit"
)

// Permissions specify which calls of granted tools are made immediately, which need a person's
// approval, and which are never made. They do not grant anything (SEC13).
type Permissions = permit.Rules

// The kinds of [Hold].
const (
	// HoldApproval means that a person approves or rejects the call; after approval the same call
	// is made with Call.Approved set.
	HoldApproval = "approval"
	// HoldQuestion means that the person's answer is the result of the call; the call is not made
	// again.
	HoldQuestion = "question"
)

// Hold describes why a call was not made: a person must decide first (P8, SEC12).
type Hold struct {
	Kind string
	// Prompt is the question shown to the person. Hocket writes it for approvals; for questions it
	// comes from the model.
	Prompt string
	// Options are the answers to choose from, and Schema is the schema of an answer to a question;
	// both may be nil. For an approval, Schema is the schema of the arguments if the person may
	// change them; nil means that they cannot be changed.
	Options []string
	Schema  json.RawMessage
	// Arguments are the call's arguments in canonical form, byte for byte as they would be passed
	// to the tool.
	Arguments json.RawMessage
	// Changed is set if the tool's definition differs from the one that the run pinned; Prompt
	// shows both (SEC14).
	Changed bool
	// Binding identifies this one action; see [Binding]. An approval is valid for it and for
	// nothing else.
	Binding string
	// Below is set if this hold repeats a wait of a child run that the call started. Tool and
	// Arguments then describe what is held there, Input is the input of the node that waits there,
	// and the call is made again after any answer. Below is nil for all other holds.
	Below *Below
	Tool  string
	Input json.RawMessage
	// Signal is the name of the signal that the child run waits for; empty means that it waits for
	// a person.
	Signal string
	// Roles are the roles that may answer the wait of the child run; empty means all.
	Roles []string
}

// Below identifies a wait of another run. If Person is set, only a person may answer it, whatever
// its kind.
type Below struct {
	Run, Wait string
	Person    bool
}

// HoldError is returned by [Set.Call] instead of a result. Tools return it too, with Kind, Prompt,
// Options and Schema, to ask a person; the Set fills in the rest. A tool that asks for approval
// finds the decision in Call.Approved when it is called again.
type HoldError struct{ Hold Hold }

func (e *HoldError) Error() string { return "waiting for a decision by a person: " + e.Hold.Prompt }

// Binding returns a fingerprint of one action: run, call (its idempotency key), node, iteration,
// workflow definition, agent, tool and toolset, canonical arguments, and the hash of the tool's
// definition. Any difference results in another binding (SEC12). If the call has a Scope, what it
// would reach is part of the binding.
func Binding(c Call, toolset, hash string) string {
	parts := []string{c.Run, c.Key, c.Node, strconv.Itoa(c.Iteration), c.Definition, c.Agent, c.Name, toolset,
		string(Canonical(c.Arguments)), hash}
	if c.Scope != nil && len(c.Scope.decided) > 0 {
		reached, _ := json.Marshal(c.Scope.decided) //nolint:errchkjson // texts cannot fail
		parts = append(parts, string(reached))
	}
	b, _ := json.Marshal(parts) //nolint:errchkjson // texts cannot fail
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Canonical returns JSON in canonical form: keys sorted and unique (the last of equal keys is
// kept), no white space, numbers as written. Invalid JSON is returned unchanged.
func Canonical(raw json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return raw
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// approval returns the prompt that asks whether a call may be made.
func approval(c Call, toolset, why string) string {
	text := "Allow the tool " + strconv.Quote(c.Name)
	if toolset != "" && toolset != c.Name {
		text += " of " + strconv.Quote(toolset)
	}
	if c.Agent != "" {
		text += " for agent " + strconv.Quote(c.Agent)
	}
	text += " with exactly these arguments?"
	if why != "" {
		text += "\n" + why
	}
	return text
}

// describeChange describes for a person how a definition changed.
func describeChange(toolset string, was, now Pin) string {
	lines := []string{
		fmt.Sprintf("The definition of this tool changed since toolset %q first offered it to this run. Approving "+
			"accepts the new one.", toolset),
	}
	compare := func(what, a, b string) {
		if a != b {
			a, b = differing(a, b)
			lines = append(lines, what+" before: "+a, what+" now: "+b)
		}
	}
	compare("Description", was.Def.Description, now.Def.Description)
	compare("Parameters", string(Canonical(was.Def.Parameters)), string(Canonical(now.Def.Parameters)))
	compare("Policy", string(was.Policy), string(now.Policy))
	return strings.Join(lines, "\n")
}

// maxShown is the maximum number of bytes of unchanged text shown for one part of a definition.
// Changed text is shown in full.
const maxShown = 2000

// differing returns two strings, quoted, for a person. If they are long, their common prefix and
// suffix are left out, except for a few words around the difference.
func differing(a, b string) (string, string) {
	if max(len(a), len(b)) <= maxShown {
		return strconv.Quote(a), strconv.Quote(b)
	}
	const around = 200
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	start, end = max(0, start-around), max(0, end-around)
	cut := func(s string) string {
		out := strconv.Quote(strings.ToValidUTF8(s[start:len(s)-end], ""))
		if start > 0 {
			out = fmt.Sprintf("(%d bytes as before) ", start) + out
		}
		if end > 0 {
			out += fmt.Sprintf(" (%d bytes as before)", end)
		}
		return out
	}
	return cut(a), cut(b)
}

// setRules compiles the permissions of the operator and the document.
func (s *Set) setRules(cfg Config) (err error) {
	s.rules, s.permissionsChanged, s.unattended = map[string]permit.Policy{}, cfg.PermissionsChanged, cfg.Unattended
	s.inherited = map[string]permit.Policy{}
	if s.defaultRules, err = permit.Compile(cfg.Permissions, cfg.Former); err != nil {
		return err
	}
	compiled := map[permit.Identity]permit.Policy{} // those of the document are shared by all agents
	compile := func(p Permissions) (permit.Policy, error) {
		id := p.Identity()
		if done, ok := compiled[id]; ok {
			return done, nil
		}
		done, err := permit.Compile(p)
		compiled[id] = done
		return done, err
	}
	for name, g := range cfg.Agents {
		rules, inherited := s.defaultRules, permit.Policy{}
		for _, p := range g.Permissions {
			own, err := compile(p)
			if err != nil {
				return fmt.Errorf("agent %q: %w", name, err)
			}
			passed, err := compile(p.Inherited())
			if err != nil {
				return fmt.Errorf("agent %q: %w", name, err)
			}
			rules, inherited = rules.And(own), inherited.And(passed)
		}
		s.rules[name], s.inherited[name] = rules, inherited
	}
	return nil
}

// kind returns the type of a built-in toolset; "" for MCP servers, which are known by name.
func (b *binding) kind() string {
	if b.inst == nil || b.inst.spec.Type == TypeMCP {
		return ""
	}
	return b.inst.spec.Type
}

// toolset returns the name of a tool's toolset; "" for a built-in tool.
func (b *binding) toolset() string {
	if b.inst == nil {
		return ""
	}
	return b.inst.name
}
