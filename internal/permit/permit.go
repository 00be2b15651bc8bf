package permit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Decision is the decision about a call. A greater value is stricter.
type Decision int

// The decisions, from the least to the most strict.
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

// Rules are lists of patterns as written in a document or the operator's file. A pattern is one of
//
//	shell                 the tool of that name
//	read_*                every tool whose name fits the glob
//	github/*              every tool of the toolset github; `github:*` and `mcp:github:*` say the same
//	shell:cmd=git log*    the tool, where the argument cmd fits the glob
//	shell:cmd=ls*:cwd=.   where every argument named fits
//
// In globs `*` matches any string, `?` any character, `[a-z]` one character of a class, and `\`
// makes the next character literal; a glob must match the whole value. A non-string argument is
// compared as its canonical JSON. A nested argument is named by its own name, or by its path as in
// file.path.
//
// Deny and Ask are read broadly: they match a call if any interpretation of it matches. Case is
// ignored, in the names of arguments too; a number is also compared in its expanded form; the name
// of a toolset, or its type, also matches all its tools; cmd also matches argv; path matches every
// argument that is a path, such as paths, source and destination, and url every address; a list is
// compared as a whole, item by item and joined with spaces; arguments count at any depth, including
// inside a string that holds JSON; the resources that the toolset resolves ([Call.Resources]) are
// compared in addition to the string. A command is compared with each command that it may run
// ([shellcmd]); a call whose command is not known before it runs, and could match a rule, is asked
// about.
//
// Allow is read narrowly: it matches a call only if all interpretations match. Case matters; an
// argument that occurs twice, with different case, matches nothing; a name without a toolset
// matches the tool as the agent's model knows it. The resources that the toolset resolves are
// compared instead of the string. For other arguments, a value in which `..` is an element of a
// path matches no glob but `*`, and neither does a shell command with one of ; | & $ ` < > ( ) { }
// or a line break: anything could follow the part that matches. Shell commands are the arguments
// cmd, command and script, of every tool.
//
// The zero Rules allow everything that was granted.
type Rules struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// Edit names the calls whose arguments a person who is asked about them may change. It is read
	// as narrowly as Allow, and decides nothing: the changed arguments are judged like any other
	// call.
	Edit []string `json:"edit,omitempty"`
	// Default applies to calls that no pattern names, except those that only pass work to another
	// agent: `allow`, `ask` or `deny`; "" means allow. A call of a tool that Allow names only with
	// other arguments is at least asked about: a list of what is allowed for a tool excludes the
	// rest of it.
	Default string `json:"default,omitempty"`
}

// IsZero reports whether the rules are empty.
func (r Rules) IsZero() bool {
	return len(r.Allow)+len(r.Ask)+len(r.Deny)+len(r.Edit) == 0 && r.Default == ""
}

// Inherited returns the part of an agent's rules that also applies to its sub-agents: what it
// denies and what it asks about.
func (r Rules) Inherited() Rules { return Rules{Ask: r.Ask, Deny: r.Deny} }

// Identity identifies rules that many agents share, which are then judged once.
type Identity struct {
	first [4]*string
	count [4]int
	other string
}

// Identity returns the same value for rules with the same lists, not only equal ones.
func (r Rules) Identity() Identity {
	id := Identity{other: r.Default}
	for i, l := range r.lists() {
		if id.count[i] = len(l.patterns); len(l.patterns) > 0 {
			id.first[i] = &l.patterns[0]
		}
	}
	return id
}

// Problem is a rule that cannot be read. List and Index identify it: Rules.Allow[2] is "allow", 2;
// Default is "default", 0.
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

// list is one of the lists of Rules.
type list struct {
	name     string
	patterns []string
}

func (r Rules) lists() []list {
	return []list{{"allow", r.Allow}, {"ask", r.Ask}, {"deny", r.Deny}, {"edit", r.Edit}}
}

// Problems returns the rules that cannot be read, in order, or nil if all can.
func (r Rules) Problems() []*Problem {
	var out []*Problem
	for _, l := range r.lists() {
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

// Call is the tool call to decide about.
type Call struct {
	// Own is the tool's own name, Offered the name by which the agent's model knows it, Toolset the
	// toolset's name; "" if it is in none.
	Own, Offered, Toolset string
	// Type is the type of the toolset, which is its name unless a document specifies another; ""
	// for toolsets known by name alone. Deny rules match a toolset by either.
	Type string
	// Arguments is a JSON object.
	Arguments json.RawMessage
	// Takes are the names of the tool's arguments, at any depth, for [Rules.Unmatched]; nil means
	// that they are not known.
	Takes []string
	// Resources are what the call would reach, as resolved by its toolset from the arguments; empty
	// for toolsets without resources.
	Resources []Resource
	// Delegates reports whether the call only passes work to another agent: a sub-agent, or the
	// target of a hand-off. Defaults do not apply to such calls.
	Delegates bool
	// Unresolved reports whether Resources are left out: allow rules then count as matching
	// whatever argument they compare, so that a decision stricter than Allow applies whatever the
	// resources are.
	Unresolved bool
}

// Policy is the combined decision of several Rules. The zero Policy allows everything. It is safe
// for concurrent use.
type Policy struct{ sets []set }

type set struct {
	allow, ask, deny, edit []pattern
	fallback               Decision
}

// IsZero reports whether the policy allows everything.
func (p Policy) IsZero() bool { return len(p.sets) == 0 }

// And returns a policy with the rules of p and of all others.
func (p Policy) And(others ...Policy) Policy {
	for _, o := range others {
		p.sets = append(slices.Clip(p.sets), o.sets...)
	}
	return p
}

// Compile returns a Policy for all the given rules. The error is the first *Problem.
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

// parsed parses patterns that have already been checked.
func parsed(texts []string) []pattern {
	out := make([]pattern, 0, len(texts))
	for _, text := range texts {
		if p, err := parse(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Decide returns the decision about a call, and the pattern that determined it, or "" for a
// default.
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

// Hides reports whether a deny or ask rule matches a call that reaches res instead of all that c
// reaches through the same argument: the results that a search or a similar tool encounters and
// omits. Allow rules, and defaults, hide nothing.
func (p Policy) Hides(c Call, res Resource) bool {
	if len(p.sets) == 0 {
		return false
	}
	means := func(p pattern) bool { return len(p.args) > 0 && p.names(c, true) }
	if !slices.ContainsFunc(p.sets, func(s set) bool {
		return slices.ContainsFunc(s.deny, means) || slices.ContainsFunc(s.ask, means)
	}) {
		return false
	}
	var args map[string]json.RawMessage
	_ = json.Unmarshal(c.Arguments, &args) // a value that is not an object has no arguments to compare
	delete(args, res.Argument)
	c.Arguments, _ = json.Marshal(args) //nolint:errchkjson // it was read as JSON
	c.Resources = append(slices.DeleteFunc(slices.Clone(c.Resources), func(r Resource) bool {
		return r.Argument == res.Argument
	}), res)
	r := read(c)
	for _, s := range p.sets {
		for _, p := range slices.Concat(s.deny, s.ask) {
			if len(p.args) > 0 && p.matchesBroadly(r, s.allow) != no {
				return true
			}
		}
	}
	return false
}

func (s *set) decide(r *reading) (Decision, string) {
	d, text, _ := s.judge(r)
	return d, text
}

// judge returns the decision about a call and the pattern that determined it. unsure reports
// whether it is asked about only because its command may run what the pattern names.
func (s *set) judge(r *reading) (d Decision, text string, unsure bool) {
	perhaps := ""
	for _, p := range s.deny {
		switch p.matchesBroadly(r, s.allow) {
		case sure:
			return Deny, p.text, false
		case maybe:
			perhaps = cmp.Or(perhaps, p.text)
		}
	}
	for _, p := range s.ask {
		switch p.matchesBroadly(r, s.allow) {
		case sure:
			return Ask, p.text, false
		case maybe:
			perhaps = cmp.Or(perhaps, p.text)
		}
	}
	d, text = s.allows(r)
	if perhaps != "" && d < Ask && !s.namesCommand(r) {
		return Ask, perhaps, true
	}
	return d, text, false
}

// namesCommand reports whether a rule explicitly allows the whole command of a call.
func (s *set) namesCommand(r *reading) bool {
	return slices.ContainsFunc(s.allow, func(p pattern) bool {
		fits, _ := p.matchesNarrowly(r)
		return fits && p.namesCommand()
	})
}

// Unsure returns the pattern because of which a call is asked about, if the only reason is that its
// command may run what the pattern names, and the patterns that allow the call if they are added to
// Allow of the same rules. Otherwise it returns "".
func (p Policy) Unsure(c Call) (rule string, allow []string) {
	r := read(c)
	for _, s := range p.sets {
		d, text, unsure := s.judge(r)
		switch {
		case d == Deny || d == Ask && !unsure:
			return "", nil
		case unsure && rule == "":
			rule = text
			if !slices.ContainsFunc(s.allow, func(p pattern) bool { return p.names(c, false) }) {
				allow = append(allow, c.Offered) // otherwise other calls of the tool would be asked about
			}
		}
	}
	if rule != "" {
		allow = append(allow, c.Offered+r.exactly())
	}
	return rule, allow
}

// allows decides about a call that no deny or ask rule matches.
func (s *set) allows(r *reading) (Decision, string) {
	pattern := ""
	for _, p := range s.allow {
		fits, of := p.matchesNarrowly(r)
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
	if r.Delegates {
		return Allow, ""
	}
	return s.fallback, ""
}

// Edits reports whether a person who is asked about a call may change its arguments: any of the
// rules names it under Edit.
func (p Policy) Edits(c Call) bool {
	if !slices.ContainsFunc(p.sets, func(s set) bool { return len(s.edit) > 0 }) {
		return false
	}
	r := read(c)
	return slices.ContainsFunc(p.sets, func(s set) bool {
		return slices.ContainsFunc(s.edit, func(p pattern) bool {
			fits, _ := p.matchesNarrowly(r)
			return fits
		})
	})
}

// AsksMore reports whether any rule asks about the call now that does not ask about the call was,
// so that an answer about was does not apply to it.
func (p Policy) AsksMore(was, now Call) bool {
	before, after := read(was), read(now)
	for _, s := range p.sets {
		for _, p := range slices.Concat(s.ask, s.deny) { // a deny rule asks if it is not sure
			if p.matchesBroadly(after, s.allow) != no && p.matchesBroadly(before, s.allow) == no {
				return true
			}
		}
		d, by := s.allows(after)
		if had, former := s.allows(before); d >= Ask && (d != had || by != former) {
			return true
		}
	}
	return false
}
