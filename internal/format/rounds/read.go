package rounds

import (
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/inputs"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Keys that editors and stores write for themselves; they have no effect on the run.
var (
	rootExtras = []string{"$schema", "version", "viewport", "zoom", "pan", "offset", "metadata", "createdAt",
		"updatedAt"}
	nodeExtras = []string{
		"x", "y", "width", "height", "position", "positionAbsolute", "selected", "dragging", "resizing", "zIndex",
		"style", "className", "measured",
		"draggable", "selectable", "connectable", "deletable", "sourcePosition", "targetPosition",
	}
	edgeExtras = []string{"type", "animated", "selected", "style", "className", "markerStart", "markerEnd", "zIndex",
		"sourceHandle", "targetHandle"}
)

// misspelledKeys maps keys that are often written to the keys that were meant. Such a key is an
// error if the latter is absent, since the value was meant to have an effect.
var misspelledKeys = map[string]string{
	"connections": "edges", "links": "edges", "rounds": keyMaxRounds, "max_rounds": keyMaxRounds,
	"maxCycles": keyMaxRounds,
	"mode":      keyExecutionMode, "execution_mode": keyExecutionMode, "cron": keySchedule, "interval": keySchedule,
	"tz": keyTimeZone, "time_zone": keyTimeZone, "timezone": keyTimeZone, "instruction": keyTurnInstruction,
	"turn_instruction": keyTurnInstruction,
	"agent_id":         keyAgentID, "agent": keyAgentID, "agentID": keyAgentID,
}

// unknown reports the keys that no accessor has read.
func (r *reader) unknown(f *source.Fields, keys []string, extras ...string) {
	for _, e := range f.Node().Entries {
		if want := misspelledKeys[e.Key]; want != "" && slices.Contains(keys, want) && f.Node().Get(want) == nil {
			f.Get(e.Key)
			r.diags.Warnf(e.KeySpan, e.Value.Path(), source.CodeUnknownKey, "the key %q is not known here",
				e.Key).UnknownAs(want)
		}
	}
	f.Unknown(diag.Warning, append(slices.Clone(keys), extras...)...)
}

// inherited is what branches inherit from the workflow if they do not specify it themselves
// (S1-20).
type inherited struct {
	mode        string // "" if there is no mode or it is unknown
	modeAt      *source.Node
	instruction string
	zone        string
	context     string

	instructionAt *source.Node
}

// graphKeys are the keys that the main graph and branches have in common.
var graphKeys = []string{"id", "name", "description", "nodes", "edges", keyMaxRounds, keyExecutionMode, keySchedule,
	keySchedules, keyTimeZone, keyTurnInstruction, keyContext, "labels"}

func (r *reader) document(root *source.Node, opts Options) *workflow.Workflow {
	f := root.Fields(&r.diags)
	if f == nil {
		return emptyWorkflow(root)
	}
	r.readAgents(f.Get("agents"), opts)
	r.shared = nodes.ReadShared(f, &r.diags)
	branches := f.List("branches")
	var top inherited
	top.mode, top.modeAt = r.mode(f, inherited{})
	top.instruction = f.Str(keyTurnInstruction)
	top.zone = r.zone(f, "")
	top.context = r.context(f, contextTurns)
	if top.instruction != "" {
		top.instructionAt = f.Get(keyTurnInstruction)
	}
	r.checkInstruction(top.context, top.instructionAt)
	main := graph{r: r, f: f, instruction: top.instruction, instructionAt: top.instructionAt, context: top.context}
	if len(branches) == 0 || !f.Get("nodes").IsNull() {
		main.read(len(branches) > 0)
	} else {
		main.noNodes(f)
	}
	w := main.workflow(root)
	w.Labels = inputs.Labels(f.Get("labels"), &r.diags)
	w.Concurrency = inputs.Concurrency(f.Get("concurrency"), &r.diags)
	w.ID, w.Name, w.Description = f.Text("id"), f.Text("name"), f.Text("description")
	if len(branches) == 0 {
		w.Schedules = r.schedules(f, w, top)
	} else {
		r.neverScheduled(f)
	}
	r.branches(w, branches, top)
	r.unknown(f, append([]string{"agents", "branches", "concurrency"}, graphKeys...), rootExtras...)
	r.unused()
	return w
}

// context reads what agents are sent; inherited is the value without the key.
func (r *reader) context(f *source.Fields, inherited string) string {
	text, ok := f.OptStr(keyContext)
	words := []string{contextTurns, contextPrevious}
	switch {
	case !ok:
		return inherited
	case slices.Contains(words, text):
		return text
	}
	at := f.Get(keyContext)
	d := r.diags.Errorf(at.Span, at.Path(), codeBadValue, "the context %q is not known", text)
	if d.Hint = r.similar(text, words); d.Hint == "" {
		d.Hint = "write turns, or previous for the previous output alone"
	}
	return inherited
}

// checkInstruction warns if an instruction that the previous output follows has the token for it.
func (r *reader) checkInstruction(context string, at *source.Node) {
	if context != contextPrevious || at == nil || !strings.Contains(at.Text, previousOutput) {
		return
	}
	r.diags.Warnf(at.Span, at.Path(), codeOutputTwice,
		"with the context previous, the previous output replaces %s in the instruction and also follows it",
		previousOutput).Hint = "remove it from the instruction, or write context: turns, which sends it as plain text"
}

func emptyWorkflow(at *source.Node) *workflow.Workflow {
	w := &workflow.Workflow{
		Format: Format, Nodes: []workflow.Node{}, Edges: []workflow.Edge{},
		Source: workflow.Source{Nodes: map[string]diag.Span{}, Agents: map[string]diag.Span{}},
	}
	if at != nil {
		w.Source.File = at.Span.File
	}
	return w
}

// readAgents reads the agents of the document and appends the external ones.
func (r *reader) readAgents(n *source.Node, opts Options) {
	if !n.IsNull() {
		spans := map[string]diag.Span{}
		for _, item := range n.Items {
			if id := item.Get("id"); id != nil {
				if _, ok := spans[id.Text]; !ok {
					spans[id.Text] = id.Span
				}
			}
		}
		before := len(r.diags)
		for _, a := range agents.List(n, &r.diags) {
			r.agents[a.ID] = &agent{Agent: a, span: spans[a.ID]}
		}
		r.broken = slices.ContainsFunc(r.diags[before:], func(d diag.Diagnostic) bool {
			return d.Severity == diag.Error && !d.Unknown
		})
	}
	for _, a := range opts.Agents {
		if r.agents[a.ID] == nil {
			r.agents[a.ID] = &agent{Agent: a}
		}
	}
	r.ids = slices.Sorted(maps.Keys(r.agents))
}

// withReferencedAgents adds the agents that the agents of list may call or hand over to.
func (r *reader) withReferencedAgents(list []workflow.Agent) []workflow.Agent {
	find := func(id string) *workflow.Agent {
		a := r.agents[id]
		if a == nil {
			return nil
		}
		a.used = true
		return &a.Agent
	}
	return agents.Close(list, find, func(id string) diag.Span { return r.agents[id].span }, &r.diags)
}

// unused warns of agents of the document that none of its graphs names. It does nothing if there
// are faults: a name that was not understood may be that of such an agent.
func (r *reader) unused() {
	if r.diags.HasFaults() {
		return
	}
	for _, id := range r.ids {
		if a := r.agents[id]; !a.used && a.span != (diag.Span{}) {
			r.diags.Warnf(a.span, "", codeUnusedAgent, "agent %q is not used", id)
		}
	}
}

// branches reads the graphs next to the main one (S1-20).
func (r *reader) branches(w *workflow.Workflow, items []*source.Node, top inherited) {
	first := map[string]diag.Span{}
	for _, item := range items {
		f := item.Fields(&r.diags)
		if f == nil {
			continue
		}
		id := f.Require("id")
		g := graph{r: r, f: f, instruction: top.instruction, instructionAt: top.instructionAt, branch: f.Text("id"),
			context: r.context(f, top.context)}
		if text, ok := f.OptStr(keyTurnInstruction); ok {
			g.instruction, g.instructionAt = text, f.Get(keyTurnInstruction)
		}
		if g.context != top.context || g.instructionAt != top.instructionAt {
			r.checkInstruction(g.context, g.instructionAt)
		}
		switch {
		case id == nil || !id.IsScalar():
		case id.Text == "":
			r.diags.Errorf(id.Span, id.Path(), source.CodeMissingKey, "the id of a branch must not be empty")
		default:
			if span, twice := first[id.Text]; twice {
				d := r.diags.Errorf(id.Span, id.Path(), codeDuplicateBranch, "branch id %q is used twice", id.Text)
				source.Twice(d, span, "branch with this id")
				d.Hint = "give one of them another id"
			} else {
				first[id.Text] = id.Span
			}
		}
		g.read(false)
		b := g.workflow(item)
		b.ID, b.Name, b.Description = g.branch, f.Text("name"), f.Text("description")
		own := top
		if mode, at := r.mode(f, top); at != nil {
			own.mode, own.modeAt = mode, at
		}
		own.zone = r.zone(f, top.zone)
		b.Schedules, b.Labels = r.schedules(f, b, own), inputs.Labels(f.Get("labels"), &r.diags)
		r.unknown(f, slices.Concat(graphKeys, nodes.DocumentKeys()), rootExtras...)
		w.Branches = append(w.Branches, b)
	}
}
