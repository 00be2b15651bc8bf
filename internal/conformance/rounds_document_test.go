package conformance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// roundsGraph returns the keys of a graph in a rounds document. Each node is an agent with the
// node's name; edges are written `a -> b; b -> a`; more holds further keys.
func roundsGraph(nodes, edges string, more ...string) row {
	g := row{}
	var list, ways []row
	for id := range strings.FieldsSeq(nodes) {
		list = append(list, row{"id": id, "type": "agent", "config": row{"agentId": id}})
	}
	for i, way := range strings.Split(edges, ";") {
		if from, to, ok := strings.Cut(way, "->"); ok {
			ways = append(ways, row{"id": fmt.Sprint("e", i+1), "from": strings.TrimSpace(from),
				"to": strings.TrimSpace(to)})
		}
	}
	g["nodes"], g["edges"] = append([]row{}, list...), append([]row{}, ways...)
	for _, text := range more {
		if err := json.Unmarshal([]byte("{"+text+"}"), &g); err != nil {
			panic(err)
		}
	}
	return g
}

// rounds returns a rounds document with the agents named by its nodes, plus a, b and c.
func rounds(nodes, edges string, more ...string) string {
	g := roundsGraph(nodes, edges, more...)
	var agents []row
	for _, id := range []string{"a", "b", "c"} {
		agents = append(agents, row{"id": id})
	}
	g["agents"] = agents
	return asJSON(g)
}

// onBranch sets the branch to run.
func onBranch(id string) func(*service.StartRequest) {
	return func(q *service.StartRequest) { q.Branch = id }
}

// checkWarning checks that want is among the warnings of a document.
func checkWarning(t *testing.T, doc, want string) {
	t.Helper()
	_, problems := load(t, doc)
	if got := messages(problems, diag.Warning); !slices.Contains(got, want) {
		t.Errorf("warnings %q, want %q among them", got, want)
	}
}

var roundsDocument = []rule{
	{name: "S1-1 the keys of the reference and those that editors write", test: func(t *testing.T) {
		doc := rounds("a b", "a -> b")
		edited := strings.NewReplacer(`"config"`, `"parameters"`, `"from"`, `"source"`, `"to"`, `"target"`).Replace(doc)
		one, _ := load(t, doc)
		other, problems := load(t, edited)
		same(t, "problems", messages(problems, diag.Warning), []string{`agent "c" is not used`})
		x, err1 := one.Digest()
		y, err2 := other.Digest()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		same(t, "digest of the same document as editors write it", y, x)
		for _, d := range []string{doc, edited} {
			same(t, "run", newWorld(t).runRoutes(d, "hi"), "a b = b said")
		}
	}},
	{name: "S1-2 the first node begins, unless edges lead to it and to all others but one", test: func(t *testing.T) {
		for _, c := range []struct{ nodes, edges, want string }{
			{"b a", "a -> b", "a b = b said"},
			{"b a", "ghost -> b", "b a = a said"}, // as without edges (S1-16)
			{"b a", "b -> b", ""},
			{"b a c", "a -> b", "b = b said"},                 // c has none either
			{"b c a", "a -> b; b -> c", "a b c = c said"},     //
			{"b a c", "a -> b; a -> c", "a b = b said"},       // an edge that is not followed leads to c
			{"b a", "a -> a; a -> b", ""},                     // a has none but its own
			{"a b c", "a -> b; a -> c; b -> a", ""},           // none has none
			{"a b c", "a -> b; c -> b", "a b = b said"},       // none leads to the first
			{"c b a", "a -> b; b -> c; b -> a", "c = c said"}, // all have one
			{"c b a", "b -> c; a -> b; a -> ghost", "a b c = c said"},
		} {
			doc := rounds(c.nodes, c.edges)
			if c.want == "" { // a cycle
				doc = rounds(c.nodes, c.edges, `"maxRounds": 1`)
				w, _ := load(t, doc)
				c.want = strings.Fields(c.nodes)[0]
				if c.edges == "a -> a; a -> b" {
					c.want = "a"
				}
				same(t, "beginning of "+c.nodes+", "+c.edges, w.Entry, c.want)
			} else {
				same(t, c.nodes+", "+c.edges, newWorld(t).runRoutes(doc, "hi"), c.want)
			}
			w, _ := load(t, doc)
			text, unsupported, err := format.Write(w, format.Rounds)
			if err != nil || len(unsupported) > 0 {
				t.Fatalf("write %s, %s: %v, %v", c.nodes, c.edges, err, unsupported)
			}
			if digest(t, string(text)) != digest(t, doc) {
				t.Errorf("%s, %s is written as another workflow: %s", c.nodes, c.edges, text)
			}
		}
		same(t, "with rounds", newWorld(t).runRoutes(rounds("b a", "a -> b; b -> a", `"maxRounds": 2`), "hi"),
			"b a b a = a said")
	}},
	{name: "S1-4 one successor: the first edge of the array", test: func(t *testing.T) {
		doc := rounds("a b c", "a -> c; a -> b; c -> b")
		checkWarning(t, doc, `only the first edge that leaves "a" is followed: the edge "e2" never is`)
		same(t, "run", newWorld(t).runRoutes(doc, "hi"), "a c b = b said")
		same(t, "a cycle behind a second edge needs no rounds",
			newWorld(t).runRoutes(rounds("a b c", "a -> b; b -> c; b -> a"), "hi"), "a b c = c said")
		checkWarning(t, strings.Replace(doc, `"to":"c"`, `"to":"c","condition":{"content_contains":"x"}`, 1),
			`conditions of edges are not read: the edge is followed as if there were no "condition"`)
	}},
	{name: "S1-5 a dangling edge ends the run there, completed", test: func(t *testing.T) {
		doc := rounds("a b", "a -> b; b -> ghost")
		checkWarning(t, doc, `Edge target "ghost" not found: the edge is never followed`)
		w := newWorld(t)
		r := w.runs(doc, "hi")
		same(t, "output", text(r.is(event.StatusCompleted).Output), "b said")
		same(t, "log", r.logOf("b warn"), []string{`b warn Edge target "ghost" not found`})
		same(t, "alone", newWorld(t).runRoutes(rounds("a b", "a -> ghost"), "hi"), "a = a said")
		same(t, "it is as if it were not there", newWorld(t).runRoutes(rounds("a b", "a -> ghost; a -> b"), "hi"),
			"a b = b said")
		checkWarning(t, rounds("a b", "ghost -> a; a -> b"),
			`Edge source "ghost" not found: the edge is never followed`)
	}},
	{name: "S1-6 errors in the words of the reference, before anything runs", test: func(t *testing.T) {
		same(t, "unknown agent", refused(t, rounds("zoe", "")), []string{"Agent not found: zoe"})
		same(t, "in a branch", refused(t, rounds("a", "", `"branches": [`+asJSON(roundsGraph("zoe", "", `"id": "x"`))+
			`]`)), []string{"Agent not found: zoe"})
		same(t, "no agent", refused(t, `{"nodes": [{"id": "n1", "type": "agent", "config": {}}], "edges": []}`),
			[]string{"Workflow node n1: missing agentId in config"})
		same(t, "unknown type", refused(t, `{"nodes": [{"id": "n1", "type": "webhook", "config": {}}], "edges": []}`),
			[]string{"No handler for workflow node type webhook"})
		w := newWorld(t)
		_, _, _, err := w.LoadStored(t.Context(), "nowhere", service.Which{}, service.LoadOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "Workflow not found") {
			t.Errorf("a workflow that there is not: %v", err)
		}
		w.noRuns()
	}},
	{name: "S1-7 no nodes: completed, without output and trail", test: func(t *testing.T) {
		w := newWorld(t)
		r := w.runs(`{"nodes": [], "edges": []}`, "hi")
		o := r.is(event.StatusCompleted)
		same(t, "output", o.Output, nil)
		same(t, "steps", len(o.Steps), 0)
		same(t, "trail", len(r.trail()), 0)
		same(t, "asked", w.asked(), []string{})
	}},
	{name: "S1-8 duplicate node ids", test: func(t *testing.T) {
		same(t, "errors", refused(t, rounds("a b a", "a -> b")), []string{`node id "a" is used twice, first at 1:128`})
	}},
	{name: "S1-16 no edges: once, in the order of the array", test: func(t *testing.T) {
		for _, doc := range []string{rounds("b c a", ""), rounds("b c a", "", `"maxRounds": 3`),
			strings.Replace(rounds("b c a", ""), `"edges":[],`, "", 1)} {
			checkWarning(t, doc, "the workflow has 3 nodes and no edges: they run once, in the order of the array")
			w := newWorld(t)
			same(t, "run", w.runRoutes(doc, "hi"), "b c a = a said")
			same(t, "each has the output before it", strings.HasSuffix(w.prompt("c"), "Output from b:\nb said"), true)
		}
	}},
	{name: "S1-20 branches are graphs of their own, which inherit mode and instruction but no rounds",
		test: func(t *testing.T) {
			doc := testdata(t, "rounds/mixed.json")
			wf, _ := load(t, doc)
			for _, c := range []struct{ branch, steps, first string }{
				{"", "m", "It is your turn.\n\nhi"}, {"once", "a1 a2 a1 a2", "It is your turn.\n\nhi"},
				{"often", "a1", "Look around.\n\nhi"}, {"ever", "a1", "It is your turn.\n\nhi"},
			} {
				w := newWorld(t)
				r := w.beginWorkflow(wf, "hi", onBranch(c.branch))
				r.is(event.StatusCompleted)
				same(t, "steps of "+c.branch, r.ran(), c.steps)
				same(t, "first prompt of "+c.branch, w.requests[0].LastText(), c.first)
				same(t, "limits of "+c.branch, r.recorded().Workflow.Limits.MaxRounds,
					map[string]int{"": 7, "once": 2}[c.branch])
			}
			heir, _ := load(t, rounds("a", "", `"executionMode": "continuous"`,
				`"branches": [`+asJSON(roundsGraph("a", "", `"id": "x"`))+`]`))
			same(t, "mode of an heir", heir.Branches[0].Mode(), workflow.ModeContinuous)
			same(t, "a cycle is not ended by the workflow's rounds", refused(t, rounds("a", "", `"maxRounds": 9`,
				`"branches": [`+asJSON(roundsGraph("a", "a -> a", `"id": "x"`))+`]`)),
				[]string{"the cycle a -> a never ends: maxRounds must be a positive number"})
		}},
	{name: "S1-21 an unknown branch is an error, and nothing else is run in its place", test: func(t *testing.T) {
		w := newWorld(t)
		wf, _ := load(t, testdata(t, "rounds/mixed.json"))
		_, err := w.Start(t.Context(), service.StartRequest{Workflow: wf, Branch: "onec"})
		var invalid *service.InvalidError
		if !errors.As(err, &invalid) {
			t.Fatalf("start: %v", err)
		}
		same(t, "error", invalid.Error(), `branch "onec" not found; the branches are once (one_time), often `+
			`(interval), ever (continuous); did you mean "once"?`)
		wf.Nodes, wf.Edges, wf.Entry = nil, nil, ""
		if _, err = w.Start(t.Context(), service.StartRequest{Workflow: wf}); !errors.As(err, &invalid) {
			t.Fatalf("start of an empty main graph: %v", err)
		}
		same(t, "error", invalid.Error(), "the main graph has no nodes; name the branch to run: once (one_time), "+
			"often (interval), ever (continuous)")
		w.noRuns()
	}},
	{name: "S1-22 modes that need a schedule are refused without a good one", test: func(t *testing.T) {
		for schedule, want := range map[string]string{
			``:                        "the mode interval needs a schedule",
			`, "schedule": ""`:        "the mode interval needs a schedule",
			`, "schedule": "soon"`:    `invalid schedule "soon"`,
			`, "schedule": "60abc"`:   `schedule "60abc" is not a whole number of seconds`,
			`, "schedule": "daily@9"`: `schedule "daily@9": "9" is not a time of day`,
		} {
			same(t, "errors", refused(t, rounds("a", "", `"executionMode": "interval"`+schedule)), []string{want})
			branch := asJSON(roundsGraph("a", "", `"id": "x", "executionMode": "interval"`+schedule))
			same(t, "errors in a branch", refused(t, rounds("a", "", `"branches": [`+branch+`]`)), []string{want})
		}
		wf, _ := load(t, rounds("a", "", `"executionMode": "one_time"`))
		if wf.Schedules != nil {
			t.Errorf("one_time has the schedules %+v", wf.Schedules)
		}
	}},
	{name: "S1-23 continuous needs no schedule", test: func(t *testing.T) {
		wf, problems := load(t, rounds("a", "", `"executionMode": "continuous"`))
		same(t, "problems", len(problems), 2) // two agents added by the helper are unused
		same(t, "schedule", wf.Schedules, []workflow.Schedule{{Mode: workflow.ModeContinuous}})
		same(t, "a calendar", refused(t, rounds("a", "", `"executionMode": "continuous", "schedule": "daily@09:00"`)),
			[]string{`schedule "daily@09:00": a continuous branch has no calendar`})
	}},
	{name: "S1-27 the mode is one_time unless it says otherwise, and any branch may be run by hand",
		test: func(t *testing.T) {
			same(t, "another mode", refused(t, rounds("a", "", `"executionMode": "sometimes"`)),
				[]string{`unknown execution mode "sometimes"`})
			wf, _ := load(t,
				rounds("a", "", `"executionMode": "interval", "schedule": 60, "timeZone": "Europe/Berlin"`))
			same(t, "schedule of a document without branches", wf.Schedules,
				[]workflow.Schedule{{Mode: workflow.ModeInterval, Spec: "60", TimeZone: "Europe/Berlin"}})
			wf, _ = load(t, testdata(t, "rounds/mixed.json"))
			same(t, "schedules of a main graph beside branches", len(wf.Schedules), 0)
			var modes []string
			for _, b := range wf.Branches {
				modes = append(modes, b.Mode())
				w := newWorld(t)
				w.beginWorkflow(wf, "", onBranch(b.ID)).is(event.StatusCompleted)
			}
			same(t, "modes", modes, []string{"one_time", "interval", "continuous"})
		}},
}

func TestRoundsDocument(t *testing.T) { check(t, roundsDocument) }

func TestRoundsDocumentCovered(t *testing.T) {
	covered(t, roundsDocument, "S1-1", "S1-2", "S1-4", "S1-5", "S1-6", "S1-7", "S1-8", "S1-16", "S1-20", "S1-21",
		"S1-22", "S1-23", "S1-27")
}
