package conformance_test

import (
	"fmt"
	"strings"
	"testing"

	format "github.com/hocket-run/hocket/internal/format/steps"
	"github.com/hocket-run/hocket/workflow"
)

// deepSteps nests a step of agent x n levels deep, in parallel blocks, conditions, or both
// alternately. It returns the workflow, the path of the blocks, and the reference with which
// templates name x from outside.
func deepSteps(kind string, n int) (doc, label, ref string) {
	var blocks []string
	inner := "{id: x, type: agent, name: x}"
	for i := n; i > 0; i-- {
		if kind == "parallel" || kind == "both" && i%2 == 0 {
			id := fmt.Sprint("p", i)
			inner, blocks = fmt.Sprintf("{id: %s, type: parallel, steps: [%s]}", id, inner),
				append([]string{id}, blocks...)
			continue
		}
		inner = fmt.Sprintf("{id: c%d, type: condition, condition: '{{ $steps.a.output }}', true: [%s]}", i, inner)
	}
	blocks = append(blocks, "x")
	return inner, strings.Join(blocks, "/"), "$steps." + strings.Join(blocks, ".outputs.") + ".output"
}

// deep holds the rules about nested documents: every document that validate accepts must run, and
// nothing in it is lost (S4-13, S4-14, S4-37).
var deep = []rule{
	{name: "S4-37 outputs, references and conditions at every depth that is allowed", test: func(t *testing.T) {
		for _, kind := range []string{"parallel", "condition", "both"} {
			for _, n := range []int{31, 32, 33, 34, format.MaxDepth - 1, format.MaxDepth} {
				inner, label, ref := deepSteps(kind, n)
				doc := reading("a b x", ref, "\n- {id: a, type: agent, name: a}\n- "+inner+
					"\n- {type: condition, condition: '{{ "+ref+" == \"deep\" }}', true: [{id: z, type: agent, name: "+
					"z}], false: [{id: b, type: agent, name: b}]}\n")
				w := newWorld(t)
				w.says("a", "yes").says("x", "deep").says("z", "Z")
				w.completes(doc, "go")
				what := fmt.Sprint(kind, " ", n)
				same(t, what, w.prompt("z"), prior("go", "a (agent: a)", "yes", label+" (agent: x)", "deep"))
				same(t, what, w.of("z")[0].System, "read: deep")
			}
		}
	}},
	{name: "S4-37 one level too deep is refused, and only that is said", test: func(t *testing.T) {
		for _, kind := range []string{"parallel", "condition", "both"} {
			inner, _, ref := deepSteps(kind, format.MaxDepth+1)
			doc := reading("a x", ref, "\n- {id: a, type: agent, name: a}\n- "+inner+
				"\n- {id: z, type: agent, name: z}\n")
			same(t, kind, refused(t, doc), []string{"steps are nested more than 64 deep"})
		}
	}},
	{name: "S2-57 blocks of Go graphs, at the limit and above it", test: func(t *testing.T) {
		nested := func(n int) *gBuilder {
			var nest func(b *gBuilder, i int)
			nest = func(b *gBuilder, i int) {
				if i == n {
					b.Start(outputs("x", "deep"))
					return
				}
				way := fmt.Sprint("way", i)
				b.Parallel(gParallel{ID: fmt.Sprint("p", i), Branches: []string{way}}).Branch(way, func(b *gBuilder) {
					nest(b, i+1)
				})
			}
			b := newGraph()
			nest(b, 0)
			return b
		}
		var seen gContext
		play(t, nested(workflow.MaxBlockDepth).Then(capturesContext("z", &seen)), sheet{})
		out, ok := seen.Output("x")
		same(t, "output", string(out), `"deep"`)
		same(t, "there is one", ok, true)
		_, err := nested(workflow.MaxBlockDepth + 1).Compile()
		if err == nil || !strings.Contains(err.Error(), "parallel blocks are nested more than 64 deep") ||
			!strings.Contains(err.Error(), "steps_deep_test.go:") {
			t.Errorf("one too many: %v", err)
		}
	}},
	{name: "S0-52 sub-agents of sub-agents", test: func(t *testing.T) {
		const n = 40
		var nodes, links []string
		w := newWorld(t)
		for i := range n + 1 {
			id := fmt.Sprint("n", i)
			nodes = append(nodes,
				fmt.Sprintf(`{"id":%q,"type":"agent","x":0,"y":0,"data":{"agentName":%q,"tools":{"subagents":true}}}`,
					id, id))
			if i == n {
				w.says(id, "deepest")
				break
			}
			next := fmt.Sprint("n", i+1)
			links = append(links, fmt.Sprintf(`{"source":%q,"target":%q,"sourceHandle":"subagent"}`, id, next))
			w.plays(id, use("subagent_"+next+"_"+next, `{"input":"task"}`), say(id+" done"))
		}
		o := w.completes(`{"nodes":[{"id":"s","type":"start","x":0,"y":0},`+strings.Join(nodes, ",")+
			`],"connections":[{"source":"s","target":"n0"},`+strings.Join(links, ",")+`]}`, "go")
		same(t, "output", text(o.Output), "n0 done")
		last := w.of(fmt.Sprint("n", n-1))
		same(t, "what the deepest gave", last[len(last)-1].LastText(), "deepest")
	}},
}

// reading returns a document with an agent z that reads ref.
func reading(names, ref, list string) string {
	return strings.Replace(steps(names, list), "agents:", "agents:\n  z: {model: openai/fake, instruction: 'read: {{ "+
		ref+" }}'}", 1)
}

func TestStepsNested(t *testing.T) { check(t, deep) }
