package conformance_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

type row = map[string]any

// routes returns a routes document whose entrypoint is its first node. Each node is an agent with
// the node's name, except `x`, an executor, `h`, the handoff, and `p`, another person;
// `a+think+todo` has those tools. Edges are written `a:next -> b; b -> x; x:tool -> a; b:END -> .`:
// a value makes the edge CONDITIONAL, and `.` means no target. more holds further keys of the
// document.
func routes(nodes, edges string, more ...string) string {
	doc := row{"id": "w", "nodes": []row{}, "edges": []row{}}
	var rows, ways, agents []row
	for i, word := range strings.Fields(nodes) {
		id, tools, _ := strings.Cut(word, "+")
		n := row{"id": id, "workflowId": "w", "nodeName": id, "nodeType": "AGENT", "agentId": id}
		switch id {
		case "x":
			n["nodeType"], n["nodeName"], n["agentId"] = "TOOL_EXECUTOR", "tool_executor", nil
		case "h":
			n["nodeType"], n["nodeName"], n["agentId"] = "HUMAN", "human_handoff", nil
		case "p":
			n["nodeType"], n["agentId"] = "HUMAN", nil
		default:
			a := row{"id": id, "name": id, "systemPrompt": "You are " + id + "."}
			if tools != "" {
				a["tools"] = strings.Split(tools, "+")
			}
			agents = append(agents, a)
		}
		if i == 0 {
			doc["entrypointNodeId"] = id
		}
		rows = append(rows, n)
	}
	for i, way := range strings.Split(edges, ";") {
		left, to, ok := strings.Cut(way, "->")
		if !ok {
			continue
		}
		from, value, conditional := strings.Cut(strings.TrimSpace(left), ":")
		e := row{"id": fmt.Sprint("e", i), "workflowId": "w", "sourceNodeId": from,
			"targetNodeId": strings.TrimSpace(to), "conditionType": "ALWAYS", "conditionValue": nil}
		if conditional {
			e["conditionType"], e["conditionValue"] = "CONDITIONAL", value
		}
		if e["targetNodeId"] == "." {
			e["targetNodeId"] = nil
		}
		ways = append(ways, e)
	}
	doc["nodes"], doc["edges"], doc["agents"] = rows, ways, agents
	for _, text := range more {
		if err := json.Unmarshal([]byte("{"+text+"}"), &doc); err != nil {
			panic(err)
		}
	}
	return asJSON(doc)
}

// thinking offers the tools think and create_todo.
func thinking(q *service.StartRequest) {
	q.Tools = []byte("toolsets:\n- {type: think}\n- {type: todo}\n")
}

// route returns a line that calls the routing tool.
func route(next, content string) line {
	return use("route_to", asJSON(row{"next": next, "content": content}))
}

func (l line) saying(text string) line {
	l.text = text
	return l
}

// ran returns the nodes of a run's steps, in order.
func (r *run) ran() string {
	r.w.t.Helper()
	var out []string
	for _, st := range r.show().Steps {
		out = append(out, st.Node)
	}
	return strings.Join(out, " ")
}

// runRoutes runs a document and returns the nodes that ran, with the output or the failure message.
func (w *world) runRoutes(doc, input string) string {
	w.t.Helper()
	r := w.runs(doc, input, thinking)
	o := r.show()
	if o.Error != nil {
		return r.ran() + " ! " + o.Error.Message
	}
	return r.ran() + " = " + text(o.Output)
}

var routesDocument = []rule{
	{name: "S3-1 rows in camelCase and in snake_case, ON_COMPLETE like ALWAYS", test: func(t *testing.T) {
		camel := routes("a b", "a -> b; b -> .", `"name": "N", "description": "D", "isConversational": true`)
		snake := strings.NewReplacer("workflowId", "workflow_id", "nodeName", "node_name", "nodeType", "node_type",
			"agentId", "agent_id", "sourceNodeId", "source_node_id",
			"targetNodeId", "target_node_id", "conditionType", "condition_type", "conditionValue", "condition_value",
			"isConversational", "is_conversational",
			"entrypointNodeId", "entrypoint_node_id", `"ALWAYS"`, `"ON_COMPLETE"`).Replace(camel)
		one, problems := load(t, camel)
		other, more := load(t, snake)
		same(t, "problems", append(problems, more...), nil)
		a, err1 := one.Digest()
		b, err2 := other.Digest()
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		same(t, "digest of the same rows in snake_case", b, a)
		same(t, "what is said of the workflow", []string{one.ID, one.Name, one.Description}, []string{"w", "N", "D"})
		for _, doc := range []string{camel, snake} {
			w := newWorld(t)
			same(t, "run", w.runRoutes(doc, "hi"), "a b = b said")
		}
	}},
	{name: "S3-7 executors and their edges are never made by themselves", test: func(t *testing.T) {
		for _, c := range []struct{ nodes, edges, warning string }{
			{"a+think b", "a:B -> b", `agent "a" has tools, but the workflow has no node of type TOOL_EXECUTOR: the ` +
				`run fails where it calls one`},
			{"a+think b+think x", "a:B -> b; b -> x", `agent "a" has tools, but no edge leads from "a" to a node of ` +
				`type TOOL_EXECUTOR: the run fails where it calls one`},
		} {
			doc := routes(c.nodes, c.edges)
			_, problems := load(t, doc)
			same(t, "warning", slices.Contains(messages(problems, diag.Warning), c.warning), true)
			w := newWorld(t)
			w.plays("a", use("think", `{"thought":"hm"}`))
			r := w.runs(doc, "hi", thinking)
			o := r.is(event.StatusFailed)
			if o.Error.Node == nil || *o.Error.Node != "a" || !strings.Contains(o.Error.Message, `"a"`) ||
				!strings.Contains(o.Error.Message, "tool_executor") {
				t.Errorf("error %+v, want one that names the node a and tool_executor", o.Error)
			}
			same(t, "tool calls", o.Usage.ToolCalls, 0)
		}
	}},
	{name: "S3-8 edges of nodes that do not exist are inert, with a warning: the example of the document",
		test: func(t *testing.T) {
			wf, problems := load(t, testdata(t, "routes/2nchat.json"),
				service.LoadOptions{AgentsFile: "testdata/routes/agents.json"})
			same(t, "warnings", messages(problems, diag.Warning), []string{
				`Edge target "node-uuid-6" not found: the edge is never taken`,
				`Edge source "node-uuid-6" not found: the edge is never taken`,
				`Edge target "node-uuid-6" not found: the edge is never taken`,
			})
			same(t, "its nodes and edges", []int{len(wf.Nodes), len(wf.Edges)}, []int{6, 15})
			w := newWorld(t)
			w.plays("Router", route("RC2", "")).plays("RC2", use("external_research", `{"q":1}`)).plays("Router",
				say(`{"next":"END"}`))
			r := w.beginWorkflow(wf, "hi", thinking)
			r.is(event.StatusCompleted)
			same(t, "external_research falls to tier 2", r.ran(), "node-uuid-1 node-uuid-2 node-uuid-5 node-uuid-1")
			w = newWorld(t)
			w.plays("Router", say(`{"next":"externalSearchCaller"}`))
			r = w.beginWorkflow(wf, "hi", thinking)
			same(t, "a value of a dangling edge is no value", r.is(event.StatusFailed).Error.Message,
				`no edge of "Router" for next "externalSearchCaller"`)
		}},
	{name: "S3-18 an entrypoint that exists, and one ALWAYS edge", test: func(t *testing.T) {
		w := newWorld(t)
		for _, c := range []struct{ doc, want string }{
			{routes("a", "", `"entrypointNodeId": null`), "entrypointNodeId is missing"},
			{routes("a", "", `"entrypointNodeId": "b"`), `entrypointNodeId "b" is not a node`},
			{routes("a b c", "a -> b; a -> c"), `node "a" has more than one ALWAYS edge`},
			{routes("a+think x c", "a -> x; x -> a; x -> c"), `node "tool_executor" has more than one ALWAYS edge`},
		} {
			same(t, "errors", refused(t, c.doc), []string{c.want})
		}
		w.noRuns()
	}},
	{name: "S3-19 the Router of the example has no ALWAYS edge, so a reply without next ends the run",
		test: func(t *testing.T) {
			wf, _ := load(t, testdata(t, "routes/2nchat.json"),
				service.LoadOptions{AgentsFile: "testdata/routes/agents.json"})
			w := newWorld(t)
			w.says("Router", "All done.")
			r := w.beginWorkflow(wf, "hi")
			same(t, "output", text(r.is(event.StatusCompleted).Output), "All done.")
			same(t, "ran", r.ran(), "node-uuid-1")
		}},
	{name: "S3-20 rows of another workflow and ids that repeat are errors", test: func(t *testing.T) {
		doc := strings.Replace(routes("a b", "a -> b"), `"id":"b","nodeName":"b","nodeType":"AGENT","workflowId":"w"`,
			`"id":"b","nodeName":"b","nodeType":"AGENT","workflowId":"v"`, 1)
		same(t, "row of another workflow", refused(t, doc),
			[]string{`this row belongs to the workflow "v", not to "w"`})
		same(t, "node id",
			refused(t,
				routes("a", "",
					`"nodes": [{"id":"a","nodeType":"AGENT","agentId":"a"},{"id":"a","nodeType":"AGENT",`+
						`"agentId":"a"}]`)), []string{`node id "a" is used twice, first at 1:137`})
		same(t, "edge id", refused(t, strings.Replace(routes("a b", "a:1 -> b; a:2 -> b"), `"id":"e1"`, `"id":"e0"`,
			1)), []string{`edge id "e0" is used twice, first at 1:179`})
	}},
	{name: "S3-21 agents come from the document, then from beside it, and must exist", outside: true,
		test: func(t *testing.T) {
			same(t, "unknown", refused(t, routes("a b", "a -> b", `"agents": [{"id": "a"}]`)),
				[]string{"Agent not found: b"})
			same(t, "an executor has none",
				refused(t, strings.Replace(routes("a x", "a -> x"), `"agentId":null`, `"agentId":"a"`, 1)), []string{
					"the agentId of a node of type TOOL_EXECUTOR must be null"})
			agents := filepath.Join(t.TempDir(), "agents.json")
			if err := os.WriteFile(agents,
				[]byte(`{"agents": [{"id": "a", "systemPrompt": "not this"}, {"id": "b", "systemPrompt": "From `+
					`beside."}]}`), 0o600); err != nil {
				t.Fatal(err)
			}
			wf, _ := load(t, routes("a b", "a -> b", `"agents": [{"id": "a", "systemPrompt": "Mine."}]`),
				service.LoadOptions{AgentsFile: agents})
			w := newWorld(t)
			w.beginWorkflow(wf, "hi").is(event.StatusCompleted)
			same(t, "the document's agent wins", w.request("a").System, "Mine.")
			same(t, "the other comes from beside it", w.request("b").System, "From beside.")
		}},
}

func TestRoutesDocument(t *testing.T) { check(t, routesDocument) }

func TestRoutesDocumentCovered(t *testing.T) {
	covered(t, routesDocument, "S3-1", "S3-7", "S3-8", "S3-18", "S3-19", "S3-20", "S3-21")
}
