package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// TestConvert_RunsEqual (ADR 50) checks that a workflow that Convert accepts runs like its
// document in the other format: the same nodes call the same models in the same order with the same
// parameters and prompts, no message loses any content, and the outputs and the end are the same.
func TestConvert_RunsEqual(t *testing.T) {
	t.Parallel()
	converted := map[string]int{}
	for i, doc := range slices.Concat(goodDocuments(t), drawConvertible(120)) {
		w, problems, err := service.Load(t.Context(), "doc", []byte(doc),
			service.LoadOptions{Formats: linked.Kit().Formats})
		if err != nil || w == nil || problems.HasErrors() {
			continue // it needs external agents
		}
		for _, name := range format.Names() {
			if name == w.Format {
				continue
			}
			c, err := format.Convert(w, name)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Meaning()) > 0 {
				continue
			}
			converted[w.Format+" to "+name]++
			t.Run(fmt.Sprint(i, " to ", name), func(t *testing.T) {
				t.Parallel()
				back, _ := load(t, string(c.Document), service.LoadOptions{Format: name})
				synctest.Test(t, func(t *testing.T) { compareRuns(t, w, back, doc, string(c.Document)) })
			})
		}
	}
	for _, pair := range []string{"canvas to steps", "canvas to rounds", "rounds to steps", "rounds to canvas",
		"steps to canvas", "steps to rounds"} {
		if converted[pair] < 10 {
			t.Errorf("%d documents went from %s, want at least 10: the draw has become one-sided", converted[pair],
				pair)
		}
	}
}

// words are what agents say: strings that conditions look for, with whitespace around them, and
// strings that only resemble them.
var words = []string{"billing", " Bug\n", "a BUG report", "yes", "no bug", "other", "bil ling", "BILLING", "Übung"}

type outcome struct {
	status, code, output string
	requests             []model.Request
	path                 []string
}

// compareRuns runs both workflows with the same replies.
func compareRuns(t *testing.T, before, after *workflow.Workflow, from, to string) {
	want, ok := runConverted(t, before)
	if !ok {
		return
	}
	got, ok := runConverted(t, after)
	if !ok {
		t.Fatalf("the converted document cannot be started:\n%s\n%s", from, to)
	}
	same(t, "the end", []string{got.status, got.code}, []string{want.status, want.code})
	same(t, "the output", strings.TrimSpace(got.output), strings.TrimSpace(want.output))
	same(t, "the path", got.path, want.path)
	if len(got.requests) != len(want.requests) {
		t.Fatalf("%d calls, want %d\n%s\n%s", len(got.requests), len(want.requests), from, to)
	}
	for i, q := range want.requests {
		r := got.requests[i]
		same(t, fmt.Sprintf("call %d", i), asJSON([]any{r.Node, r.Agent, r.Model, r.Params}),
			asJSON([]any{q.Node, q.Agent, q.Model, q.Params}))
		if !strings.Contains(r.System, q.System) {
			t.Errorf("call %d: the system prompt %q lacks %q", i, r.System, q.System)
		}
		for n := range want.requests {
			for _, mark := range []string{"the input", fmt.Sprintf("<%s>", want.requests[n].Node)} {
				if strings.Contains(q.LastText(), mark) && !strings.Contains(r.LastText(), mark) {
					t.Errorf("call %d: the message %q lacks %q, which %q has", i, r.LastText(), mark, q.LastText())
				}
			}
		}
	}
	if t.Failed() {
		t.Logf("from\n%s\nto\n%s", from, to)
	}
}

// runConverted runs a workflow, or returns false if it cannot be started.
func runConverted(t *testing.T, wf *workflow.Workflow) (outcome, bool) {
	w := newWorld(t)
	w.replies = func(q model.Request, n int) line {
		h := uint64(n)
		for _, c := range q.Node {
			h = h*31 + uint64(c)
		}
		r := rand.New(rand.NewPCG(h, 13))
		if r.IntN(12) == 0 {
			return fail(model.KindServer, "broken")
		}
		if r.IntN(2) == 0 {
			return say(fmt.Sprintf("%s <%s>", words[r.IntN(len(words))], q.Node))
		}
		return say(words[r.IntN(len(words))])
	}
	id, err := w.Start(t.Context(), service.StartRequest{Workflow: wf, Input: "the input"})
	if err != nil {
		return outcome{}, false
	}
	r := &run{w, id}
	r.waitSettled()
	shown := r.show()
	o := outcome{status: string(shown.Status), output: text(shown.Output), requests: w.requests}
	if shown.Error != nil {
		o.code = shown.Error.Code
	}
	for _, e := range r.trail() {
		if n := wf.Node(e.NodeID); n != nil && (n.Agent != nil || n.Wait != nil || n.Kind == workflow.KindExec) {
			o.path = append(o.path, e.NodeID+": "+strings.TrimSpace(text(e.Output)))
		}
	}
	w.close()
	return o, true
}

// goodDocuments returns all documents of the archives and examples; documents with errors are
// skipped where they are loaded.
func goodDocuments(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, d := range formattest.Documents(t, "../format/*/testdata/*.txtar", "../format/steps/testdata/read/*.txtar",
		"../../examples/*/*") {
		out = append(out, string(d.Data))
	}
	return out
}

// drawConvertible returns random documents with structures that the formats share.
func drawConvertible(n int) []string {
	var out []string
	for seed := range randtest.Seeds(n) {
		r := rand.New(rand.NewPCG(seed, 7))
		size := 1 + r.IntN(4)
		switch seed % 3 {
		case 0:
			out = append(out, drawCanvas(r, size))
		case 1:
			var nodes, edges, agents []string
			for i := range size {
				nodes = append(nodes, fmt.Sprintf(`{"id": "n%d", "type": "agent", "config": {"agentId": "a%d"}}`, i,
					i%2))
				if i > 0 {
					edges = append(edges, fmt.Sprintf(`{"id": "e%d", "from": "n%d", "to": "n%d"}`, i, i-1, i))
				}
			}
			for i := range 2 {
				agents = append(agents,
					fmt.Sprintf(`{"id": "a%d", "name": "Agent %d", "model": "openai/m%d", "systemPrompt": "Be %d.", `+
						`"params": {"temperature": 0.%d}}`, i, i, i, i, i))
			}
			rounds := ""
			if r.IntN(3) == 0 {
				rounds = `, "maxRounds": 2`
			}
			out = append(out, fmt.Sprintf(`{"id": "w", "name": "W", "nodes": [%s], "edges": [%s], "agents": [%s]%s}`,
				strings.Join(nodes, ", "), strings.Join(edges, ", "), strings.Join(agents, ", "), rounds))
		default:
			var b strings.Builder
			b.WriteString("agents:\n  x: {model: openai/a, instruction: Work.}\n  y: {name: Y, model: openai/b, " +
				"max_iterations: 7}\nworkflow:\n")
			for i := range size {
				fmt.Fprintf(&b, "  - {id: s%d, type: agent, name: %s", i, []string{"x", "y"}[r.IntN(2)])
				if i > 0 && r.IntN(2) == 0 {
					b.WriteString(`, prompt: "{{PREVIOUS_OUTPUT}}"`)
				}
				b.WriteString("}\n")
			}
			out = append(out, b.String())
		}
	}
	return out
}

// drawCanvas returns a chain of agents that may end in a choice.
func drawCanvas(r *rand.Rand, size int) string {
	var nodes, links []string
	prompts := []string{"", "{{PREVIOUS_OUTPUT}}", "", "Think about: {{PREVIOUS_OUTPUT}}!",
		`{{PREVIOUS_OUTPUT}}", "context": "all`}
	plain := r.IntN(2) == 0
	agent := func(id string) {
		prompt := prompts[r.IntN(3)]
		if !plain {
			prompt = prompts[r.IntN(len(prompts))]
		}
		nodes = append(nodes,
			fmt.Sprintf(`{"id": %q, "type": "agent", "data": {"agentName": "A %s", "model": "openai/m", `+
				`"reasoningEffort": %q, "userPrompt": "%s"}}`,
				id, id, []string{"", "auto", "high"}[r.IntN(3)], prompt))
	}
	nodes = append(nodes, `{"id": "start", "type": "start"}`)
	last := "start"
	for i := range size {
		id := fmt.Sprintf("n%d", i)
		agent(id)
		links = append(links, fmt.Sprintf(`{"id": "l%d", "source": %q, "target": %q}`, i, last, id))
		last = id
	}
	if !plain && r.IntN(2) == 0 {
		var conditions []string
		for i := range 1 + r.IntN(3) {
			op := []string{"equal", "contains"}[r.IntN(2)]
			conditions = append(conditions, fmt.Sprintf(`{"operator": %q, "value": %q}`, op,
				[]string{"Bug", "billing", "other ", "yes"}[r.IntN(4)]))
			id := fmt.Sprintf("way%d", i)
			agent(id)
			links = append(links, fmt.Sprintf(`{"source": "if", "sourceHandle": "condition-%d", "target": %q}`, i, id))
		}
		nodes = append(nodes, fmt.Sprintf(`{"id": "if", "type": "if", "data": {"conditions": [%s]}}`,
			strings.Join(conditions, ", ")))
		links = append(links, fmt.Sprintf(`{"source": %q, "target": "if"}`, last))
		if r.IntN(3) > 0 {
			agent("otherwise")
			links = append(links, `{"source": "if", "sourceHandle": "false", "target": "otherwise"}`)
		}
	}
	return fmt.Sprintf(`{"nodes": [%s], "connections": [%s]}`, strings.Join(nodes, ", "), strings.Join(links, ", "))
}
