package format

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/lost"
	"github.com/hocket-run/hocket/internal/format/rounds"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Rounds is the name of the format of documents with agents that take turns.
const Rounds = rounds.Format

func roundsFormat() Format {
	return Format{
		Name: Rounds, Title: "A workflow as rounds: agents that speak in turn", Page: "rounds.md",
		Form:     "`nodes` and `edges`, or `branches`",
		Choose:   "agents that talk in turns; workflows that start by the clock",
		Branches: true, Scheduled: true,
		Detect: rounds.Detect, Write: rounds.Write, Schema: rounds.Schema,
		Read: func(root *source.Node, o Options) (*workflow.Workflow, diag.List) {
			return rounds.Read(root, rounds.Options{Agents: o.Agents})
		},
		adapt: (*adapter).toRounds,
	}
}

// toRounds removes what rounds documents cannot express. Where not every agent is sent the previous
// output alone, it sends recent turns, which contain what was sent before.
func (a *adapter) toRounds() {
	w := a.w
	a.dropStart()
	a.plainRules("", false)
	a.replies(false, "")
	a.plainPrompts(true)
	first := func(n *workflow.Node) bool { return n.ID == w.Entry && len(a.entering(n.ID)) == 0 }
	previous := false // every agent is sent the previous output alone
	for i := range w.Nodes {
		if n := &w.Nodes[i]; n.Agent != nil && !first(n) {
			if previous = blank(n.Agent.Prompt); !previous {
				break
			}
		}
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Agent == nil {
			continue
		}
		switch p := n.Agent.Prompt; {
		case previous && (blank(p) || p.Mode == workflow.PromptContext):
			n.Agent.Prompt = workflow.Prompt{Mode: workflow.PromptTemplate, Default: rounds.DefaultPrompt}
		case blank(p), first(n) && p.Mode == workflow.PromptContext:
			n.Agent.Prompt = workflow.Prompt{Mode: workflow.PromptTurns}
			if !first(n) {
				a.changef(lost.Node(n.ID), ChangeReworded, "as in all rounds documents",
					"the message has the recent turns before the previous output")
			}
		}
		if g := w.Agent(n.Agent.Agent); g != nil && n.Name == "" {
			n.Name = g.Title()
		}
	}
	a.reorder()
}
