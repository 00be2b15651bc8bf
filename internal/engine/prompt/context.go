package prompt

import "github.com/hocket-run/hocket/internal/text"

// Entry is one output that a prompt of prior outputs shows: that of a node's latest step.
type Entry struct{ Node, Step int }

// Prior is one heading with the output below it. A block is several: one for each of its branches' steps.
type Prior struct {
	// Name is the id of the step with those of the blocks around it, Agent who gave the output, "" for no agent.
	Name, Agent string
	Step        int
}

// Context is what the last prompt of prior outputs in a scope showed: the next one shares its beginning, up to the first entry that has changed. The zero Context
// shares nothing. It never changes.
type Context struct{ tip *shown }

// shown is an entry with all those before it.
type shown struct {
	before *shown
	entry  Entry
	depth  int // entries, this one included
	// text is the prompt's up to here, which is the first parts of the recipe of step; parts is 0 where there is no text yet.
	text        text.Text
	step, parts int
}

const (
	priorBegin = "--- Prior Step Outputs ---\n\n"
	priorEnd   = "--- End Prior Step Outputs ---\n\n"
)

// Build appends the block of prior outputs, a blank line and the run's input, in the place of which missing is shown where it is empty (S4-3); the input alone
// where there are no outputs. It gives the context for the next prompt, once the recipe is stored as that of step. fixed tells how many of the entries show what they
// showed before, if they are the same; input is 0 for the run's input, or the item in its place, as in [Outputs]; priors gives what the entry i shows, with empty outputs, which are left out (S4-5).
func (c Context) Build(b *Builder, step int, entries []Entry, fixed int, priors func(i int) []Prior, input int, missing string) Context {
	tip := c.shared(entries[:min(fixed, len(entries))])
	have, depth := 0, 0
	if tip != nil {
		depth = tip.depth
		if have = tip.parts; have > 0 {
			b.stretch(tip.step, tip.parts, tip.text)
			b.mark()
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
		one := &shown{before: tip, entry: entries[i], depth: i + 1, text: b.Text(), step: step}
		if some {
			one.parts = b.mark()
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

// shared gives the longest beginning of c that is a beginning of entries, nil for none.
func (c Context) shared(entries []Entry) *shown {
	tip := c.tip
	for at := c.tip; at != nil; at = at.before {
		if at.depth > len(entries) || at.entry != entries[at.depth-1] {
			tip = at.before
		}
	}
	return tip
}
