package permit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Decision is what becomes of a call. The greater is the stricter.
type Decision int

const (
	Allow Decision = iota
	Ask
	Deny
)

func (d Decision) String() string {
	switch d {
	case Ask:
		return "ask"
	case Deny:
		return "deny"
	}
	return "allow"
}

// Rules are lists of patterns as a document or the operator's file writes them. A pattern is one of
//
//	shell                 the tool of that name
//	read_*                every tool whose name fits the glob
//	github/*              every tool of the toolset github; `github:*` and `mcp:github:*` say the same
//	shell:cmd=git log*    the tool, where the argument cmd fits the glob
//	shell:cmd=ls*:cwd=.   where every argument named fits
//
// In globs `*` is any text, `?` any character, `[a-z]` one of a class, and `\` takes the next character as it is; a glob stands for the whole value.
// An argument that is no text is compared as its canonical JSON. An argument inside of others is named by its own name, or by its path as in file.path.
//
// Deny and Ask are read broadly: they mean a call if any reading of it fits. Upper and lower case are the same, in the names of arguments too; a number is
// compared also written out; the name of a toolset, or its type, means all its tools too; cmd means argv as well; a list is compared as a whole, item by item and joined
// by blanks; arguments count at any depth, in a text that holds JSON too; what the toolset resolves ([Call.Resources]) is compared beside the text. A
// command is compared with each command that it may run ([shellcmd]); a call with a command that is not known before it runs, and that could be one that
// a rule means, is asked about.
//
// Allow is read narrowly: it means a call only if all readings fit. Case counts; an argument that is there twice, in another case, fits nothing; a name
// without toolset means the tool as the agent's model knows it. What the toolset resolves is compared in the place of the text. Of other arguments, a value in which
// `..` is an element of a path fits no glob but `*`, and neither does a shell command with one of ; | & $ ` < > ( ) { } or a line break: what follows the
// part that fits could be anything. Shell commands are the arguments cmd, command and script, of every tool.
//
// The zero Rules allow everything that was granted.
type Rules struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// Edit names the calls whose arguments a person who is asked about them may change. It is read as narrowly as Allow, and decides nothing: what the arguments become
	// is judged as any other call.
	Edit []string `json:"edit,omitempty"`
	// Default is for calls that no pattern names: `allow`, `ask` or `deny`; "" is allow. A call of a tool that Allow names only with other arguments is
	// asked about at least: a list of what is allowed of a tool excludes the rest of it.
	Default string `json:"default,omitempty"`
}

// IsZero tells whether the rules say nothing.
func (r Rules) IsZero() bool {
	return len(r.Allow)+len(r.Ask)+len(r.Deny)+len(r.Edit) == 0 && r.Default == ""
}

// Problem is a rule that cannot be read. List and Index say which: Rules.Allow[2] is "allow", 2; Default is "default", 0.
type Problem struct {
	List  string
	Index int
	Text  string
}

func (p *Problem) Error() string {
	if p.List == "default" {
		return "permissions: default: " + p.Text
	}
	return fmt.Sprintf("permissions: %s[%d]: %s", p.List, p.Index, p.Text)
}

// Problems lists the rules that cannot be read, in order; nil where all can.
func (r Rules) Problems() []*Problem {
	var out []*Problem
	for _, l := range []struct {
		name     string
		patterns []string
	}{{"allow", r.Allow}, {"ask", r.Ask}, {"deny", r.Deny}, {"edit", r.Edit}} {
		for i, text := range l.patterns {
			if _, err := parse(text); err != nil {
				out = append(out, &Problem{l.name, i, err.Error()})
			}
		}
	}
	if !slices.Contains([]string{"", "allow", "ask", "deny"}, r.Default) {
		out = append(out, &Problem{"default", 0, fmt.Sprintf("must be allow, ask or deny, got %q", r.Default)})
	}
	return out
}

// Call is what is decided about.
type Call struct {
	// Own is the tool's own name, Offered the one that the agent's model knows it by, Toolset the toolset's; "" where it is in none.
	Own, Offered, Toolset string
	// Type is the type of the toolset, which is its name unless a document gives it another one; "" for those that are known by name alone. Rules that
	// forbid mean a toolset by both.
	Type string
	// Arguments is a JSON object.
	Arguments json.RawMessage
	// Resources are what the call would reach, as its toolset resolves the arguments; none for toolsets that know of none.
	Resources []Resource
	// Unresolved tells that Resources are left out: rules that allow are then taken to fit whatever argument they compare, so that a decision above Allow is
	// one that holds whatever the resources are.
	Unresolved bool
}

// Policy is the decision of several Rules together. The zero Policy allows everything. Safe for concurrent use.
type Policy struct{ sets []set }

type set struct {
	allow, ask, deny, edit []pattern
	fallback               Decision
}

// IsZero tells whether the policy allows everything.
func (p Policy) IsZero() bool { return len(p.sets) == 0 }

// Compile makes a Policy of all rules given. The error is the first *Problem.
func Compile(all ...Rules) (Policy, error) {
	var p Policy
	for _, r := range all {
		if problems := r.Problems(); len(problems) > 0 {
			return Policy{}, problems[0]
		}
		if r.IsZero() {
			continue
		}
		s := set{allow: parsed(r.Allow), ask: parsed(r.Ask), deny: parsed(r.Deny), edit: parsed(r.Edit)}
		switch r.Default {
		case "ask":
			s.fallback = Ask
		case "deny":
			s.fallback = Deny
		}
		p.sets = append(p.sets, s)
	}
	return p, nil
}

// parsed reads patterns that were checked.
func parsed(texts []string) []pattern {
	out := make([]pattern, 0, len(texts))
	for _, text := range texts {
		if p, err := parse(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Decide tells what becomes of a call, and the pattern that says so; "" where it is a default.
func (p Policy) Decide(c Call) (Decision, string) {
	worst, rule := Allow, ""
	if len(p.sets) == 0 {
		return worst, rule
	}
	r := read(c)
	for _, s := range p.sets {
		d, text := s.decide(r)
		if d > worst || d == worst && rule == "" {
			worst, rule = d, text
		}
	}
	return worst, rule
}

// Hides tells whether a rule that forbids or asks means a call that reaches res in the place of all that c reaches by the same argument: what a search and
// the like come by and leave out. Rules that allow, and defaults, hide nothing.
func (p Policy) Hides(c Call, res Resource) bool {
	if len(p.sets) == 0 {
		return false
	}
	means := func(p pattern) bool { return len(p.args) > 0 && p.names(c, true) }
	if !slices.ContainsFunc(p.sets, func(s set) bool { return slices.ContainsFunc(s.deny, means) || slices.ContainsFunc(s.ask, means) }) {
		return false
	}
	var args map[string]json.RawMessage
	_ = json.Unmarshal(c.Arguments, &args) // what is no object has no arguments to compare
	delete(args, res.Argument)
	c.Arguments, _ = json.Marshal(args) //nolint:errchkjson // it was read as JSON
	c.Resources = append(slices.DeleteFunc(slices.Clone(c.Resources), func(r Resource) bool { return r.Argument == res.Argument }), res)
	r := read(c)
	for _, s := range p.sets {
		for _, p := range slices.Concat(s.deny, s.ask) {
			if len(p.args) > 0 && p.catches(r) != no {
				return true
			}
		}
	}
	return false
}

func (s *set) decide(r *reading) (Decision, string) {
	unsure := ""
	for _, p := range s.deny {
		switch p.catches(r) {
		case sure:
			return Deny, p.text
		case maybe:
			unsure = cmp.Or(unsure, p.text)
		}
	}
	for _, p := range s.ask {
		if p.catches(r) != no {
			return Ask, p.text
		}
	}
	d, text := s.allows(r)
	if unsure != "" && d < Ask {
		return Ask, unsure
	}
	return d, text
}

// allows decides about a call that no rule forbids or asks about.
func (s *set) allows(r *reading) (Decision, string) {
	pattern := ""
	for _, p := range s.allow {
		fits, of := p.admits(r)
		if fits {
			return Allow, p.text
		}
		if of {
			pattern = cmp.Or(pattern, p.text)
		}
	}
	if pattern != "" && s.fallback < Ask {
		return Ask, pattern
	}
	return s.fallback, ""
}
