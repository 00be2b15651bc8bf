package prompt

import "github.com/hocket-run/hocket/internal/text"

// Entry is one output in a prompt of prior outputs: that of a node's latest step.
type Entry struct{ Node, Step int }

// Prior is one heading with the output below it. A block has several: one for each step of its
// branches.
type Prior struct {
	// Name is the id of the step, prefixed with the ids of the blocks around it; Agent is the agent
	// that produced the output, or "" if there is none.
	Name, Agent string
	Step        int
}

// Context is the content of the last prompt of prior outputs in a scope: the next prompt shares its
// prefix, up to the first entry that has changed. The zero Context shares nothing. A Context is
// immutable.
type Context struct{ tip *contextEntry }

// contextEntry is an entry together with all entries before it.
type contextEntry struct {
	before *contextEntry
	entry  Entry
	depth  int // number of entries, this one included
	// text is the prompt up to and including this entry, made of the first parts (parts of them) of
	// the recipe of step; parts is 0 if there is no text yet.
	text        text.Text
	step, parts int
}

const (
	priorBegin = "--- Prior Step Outputs ---\n\n"
	priorEnd   = "--- End Prior Step Outputs ---\n\n"
)

// Build appends the block of prior outputs, a blank line and the run's input, or missing if the
// input is empty (S4-3); without outputs it appends only the input. It returns the context for the
// next prompt, to be used once the recipe is stored as that of step. fixed is the number of leading
// entries that show what they showed before, provided they are the same; input is 0 for the run's
// input, or the item in its place, as in [Outputs]; priors returns what entry i shows, including
// empty outputs, which are omitted (S4-5).
func (c Context) Build(b *Builder, step int, entries []Entry, fixed int, priors func(i int) []Prior, input int,
	missing string) Context {
	tip := c.shared(entries[:min(fixed, len(entries))])
	have, depth := 0, 0
	if tip != nil {
		depth = tip.depth
		if have = tip.parts; have > 0 {
			b.appendStretch(tip.step, tip.parts, tip.text)
			b.seal()
		}
	}
	some := have > 0
	for i := depth; i < len(entries); i++ {
		for _, p := range priors(i) {
			if out, _ := b.outputs(p.Step); out.IsZero() {
				continue
			}
			head := "\n\n["
			if !some {
				head, some = priorBegin+"[", true
			}
			b.Literal(head + p.Name + agentNote(p.Agent) + "]:\n")
			b.Output(p.Step)
		}
		one := &contextEntry{before: tip, entry: entries[i], depth: i + 1, text: b.Text(), step: step}
		if some {
			one.parts = b.seal()
		}
		tip = one
	}
	if some {
		b.Literal("\n\n" + priorEnd)
	}
	if in, _ := b.outputs(input); in.IsZero() {
		b.Literal(missing)
	} else {
		b.Output(input)
	}
	return Context{tip}
}

func agentNote(agent string) string {
	if agent == "" {
		return ""
	}
	return " (agent: " + agent + ")"
}

// shared returns the longest prefix of c that is also a prefix of entries, or nil if there is none.
func (c Context) shared(entries []Entry) *contextEntry {
	tip := c.tip
	for at := c.tip; at != nil; at = at.before {
		if at.depth > len(entries) || at.entry != entries[at.depth-1] {
			tip = at.before
		}
	}
	return tip
}
