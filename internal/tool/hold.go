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

// Permissions say which calls of granted tools are made at once, which a person is asked about, and which are never made. They grant nothing (SEC13).
type Permissions = permit.Rules

// The kinds of [Hold].
const (
	// HoldApproval: a person approves or rejects the call; after a yes the same call is made with Call.Approved set.
	HoldApproval = "approval"
	// HoldQuestion: what a person answers is the call's result; the call is not made again.
	HoldQuestion = "question"
)

// Hold is why a call was not made: a person must decide first (P8, SEC12).
type Hold struct {
	Kind string
	// Prompt is what the person is asked. It is Hocket's own text for approvals; for questions it is the model's.
	Prompt string
	// Options are answers to choose from, Schema what an answer to a question must fit; both may be nil. Of an approval, Schema is what the arguments must fit where the
	// person may change them; nil: they stay as they are.
	Options []string
	Schema  json.RawMessage
	// Arguments are the call's, in canonical form: what would be handed to the tool, byte for byte.
	Arguments json.RawMessage
	// Changed tells that the tool's definition is not the one that the run holds on to; Prompt shows both (SEC14).
	Changed bool
	// Binding names this one action: see [Binding]. An approval holds for it and for nothing else.
	Binding string
	// Below is a wait of a run that the call started, which this one repeats: Tool and Arguments are what is held there, Input is what was given to the node that
	// waits there, and the call is made again after any answer. Nil for all others.
	Below *Below
	Tool  string
	Input json.RawMessage
	// Signal is the name of the signal for which the run below waits; "": it waits for a person.
	Signal string
	// Roles are those who may answer the wait of the run below; empty: all.
	Roles []string
}

// Below names a wait of another run. Person: only a person may answer it, whatever its kind.
type Below struct {
	Run, Wait string
	Person    bool
}

// HoldError is returned by [Set.Call] in the place of a result. Tools return it too, with Kind, Prompt, Options and Schema, to ask a person; the Set
// fills in the rest. A tool that asks for an approval finds it in Call.Approved when it is called again.
type HoldError struct{ Hold Hold }

func (e *HoldError) Error() string { return "waiting for a decision by a person: " + e.Hold.Prompt }

// Binding fingerprints one action: run, call (its idempotency key), node, iteration, workflow definition, agent, tool and toolset, canonical arguments, and
// the hash of the tool's definition. Any difference gives another binding (SEC12).
// What the call would reach is part of it, where it has a Scope.
func Binding(c Call, toolset, hash string) string {
	parts := []string{c.Run, c.Key, c.Node, strconv.Itoa(c.Iteration), c.Definition, c.Agent, c.Name, toolset, string(Canonical(c.Arguments)), hash}
	if c.Scope != nil && len(c.Scope.decided) > 0 {
		reached, _ := json.Marshal(c.Scope.decided) //nolint:errchkjson // texts cannot fail
		parts = append(parts, string(reached))
	}
	b, _ := json.Marshal(parts) //nolint:errchkjson // texts cannot fail
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Canonical gives JSON in its one form: keys sorted and each once (of equal keys the last), no blanks, numbers as they are written. What is no JSON
// comes back as it is.
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

// approval words the question whether a call may be made.
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

// describeChange says what became of a definition, for a person to judge.
func describeChange(toolset string, was, now Pin) string {
	lines := []string{fmt.Sprintf("The definition of this tool changed since toolset %q first offered it to this run. Approving accepts the new one.", toolset)}
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

// maxShown bounds, in bytes, what one part of a definition shows of text that did not change. What changed is shown whole.
const maxShown = 2000

// differing gives two texts for a person, quoted. Of long ones the text that both begin or end with is left out, but for some words around the difference.
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

// setRules compiles what the operator and the document say.
func (s *Set) setRules(cfg Config) (err error) {
	s.rules, s.moved = map[string]permit.Policy{}, cfg.PermissionsChanged
	if s.everyone, err = permit.Compile(cfg.Permissions, cfg.Former); err != nil {
		return err
	}
	for name, g := range cfg.Agents {
		if s.rules[name], err = permit.Compile(append([]Permissions{cfg.Permissions, cfg.Former}, g.Permissions...)...); err != nil {
			return fmt.Errorf("agent %q: %w", name, err)
		}
	}
	return nil
}

// kind is the type of a toolset of Hocket's own; "" for MCP servers, each of which is known by its name.
func (b *binding) kind() string {
	if b.inst == nil || b.inst.spec.Type == TypeMCP {
		return ""
	}
	return b.inst.spec.Type
}

// toolset names the toolset of a tool; "" for a built-in one.
func (b *binding) toolset() string {
	if b.inst == nil {
		return ""
	}
	return b.inst.name
}
