package httpapi_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// TestWorkflows follows a workflow through its whole life: created, read, changed, drafted,
// published, checked, deleted (P38).
func TestWorkflows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.do("POST", "/api/v1/workflows", m{"id": "poem", "document": poem}).is(201)
	var d httpapi.Definition
	made.decode(&d)
	tag := made.header.Get("ETag")
	if made.header.Get("Location") != "/api/v1/workflows/poem" || tag == "" || d.ID != "poem" || d.Document != poem ||
		d.Format != "steps" || *d.Published != 1 || d.Draft != nil || *d.Version != 1 {
		t.Fatalf("%v %+v", made.header, d)
	}
	if d.Facts == nil || len(d.Facts.Agents) != 1 || d.Facts.Agents[0].Model != "own/m" || len(d.Facts.Nodes) == 0 {
		t.Errorf("facts %+v", d.Facts)
	}
	if string(d.Facts.Inputs) != "null" || string(d.Facts.OutputSchema) != "null" {
		t.Errorf("facts of a workflow whose input is a text: %s, %s", d.Facts.Inputs, d.Facts.OutputSchema)
	}
	w.do("POST", "/api/v1/workflows", m{"id": "poem", "document": poem}).problem(409, "conflict")
	if got := w.do("GET", "/api/v1/workflows/poem", nil).is(200); got.header.Get("ETag") != tag {
		t.Errorf("ETag %s, then %s", tag, got.header.Get("ETag"))
	}
	for _, header := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		if got := w.do("GET", "/api/v1/workflows/poem", nil, "If-None-Match", header).is(304); got.body != "" ||
			got.header.Get("ETag") != tag {
			t.Errorf("304 with %q and ETag %s", got.body, got.header.Get("ETag"))
		}
	}
	w.do("GET", "/api/v1/workflows/poem", nil, "If-None-Match", `"x"`).is(200)

	other := strings.Replace(poem, "Write.", "Write well.", 1)
	changed := w.do("PUT", "/api/v1/workflows/poem", m{"document": other, "draft": true}, "If-Match", tag).is(200)
	changed.decode(&d)
	if *d.Published != 1 || *d.Draft != 2 || *d.Version != 2 || d.Document != other ||
		changed.header.Get("ETag") == tag {
		t.Errorf("%+v", d)
	}
	w.do("PUT", "/api/v1/workflows/poem", m{"document": poem}, "If-Match", tag).problem(409, "conflict")
	w.do("DELETE", "/api/v1/workflows/poem", nil, "If-Match", tag).problem(409, "conflict")
	w.do("POST", "/api/v1/workflows/poem/publish", nil, "If-Match", tag).problem(409, "conflict")
	w.do("PUT", "/api/v1/workflows/poem", m{"document": poem}, "If-Match", "no tag").problem(422, "invalid")
	w.do("PUT", "/api/v1/workflows/missing", m{"document": poem}, "If-Match", "*").problem(404, "not_found")
	w.do("PUT", "/api/v1/workflows/missing", m{"document": poem}, "If-Match", tag).problem(409, "conflict")

	w.do("GET", "/api/v1/workflows/poem?draft=true", nil).is(200).decode(&d)
	if d.Document != other {
		t.Errorf("the draft is %q", d.Document)
	}
	w.do("GET", "/api/v1/workflows/poem?version=1", nil).is(200).decode(&d)
	if d.Document != poem {
		t.Errorf("version 1 is %q", d.Document)
	}
	w.do("GET", "/api/v1/workflows/poem?version=9", nil).problem(404, "not_found")
	w.do("GET", "/api/v1/workflows/poem?version=1&draft=true", nil).problem(422, "invalid")

	// Runs use the published version, test runs the draft, and each run shows its version.
	for body, version := range map[string]int{`{"workflow":"poem"}`: 1, `{"workflow":"poem","draft":true}`: 2,
		`{"workflow":"poem","version":2}`: 2} {
		if run := w.do("POST", "/api/v1/runs?wait=1m", body).is(201).run(); run.Workflow.Version == nil ||
			*run.Workflow.Version != version || run.Status != "completed" {
			t.Errorf("%s ran version %v, %s", body, run.Workflow.Version, run.Status)
		}
	}

	w.do("POST", "/api/v1/workflows/poem/publish", nil, "If-Match", changed.header.Get("ETag")).is(200).decode(&d)
	if *d.Published != 2 || d.Draft != nil || d.Document != other {
		t.Errorf("published %+v", d)
	}
	w.do("POST", "/api/v1/workflows/poem/publish", nil).problem(422, "invalid")
	w.do("POST", "/api/v1/workflows/poem/publish", m{"version": 9}).problem(404, "not_found")
	w.do("POST", "/api/v1/workflows/poem/publish", m{"version": 1}).is(200)
	var versions httpapi.List[httpapi.Version]
	w.do("GET", "/api/v1/workflows/poem/versions", nil).is(200).decode(&versions)
	if len(versions.Items) != 2 || versions.Items[0].Number != 2 || !versions.Items[1].Published {
		t.Errorf("versions %+v", versions)
	}
	w.do("DELETE", "/api/v1/workflows/poem", nil).is(204)
	w.do("DELETE", "/api/v1/workflows/poem", nil).problem(404, "not_found")
	for _, path := range []string{"", "/versions"} {
		w.do("GET", "/api/v1/workflows/poem"+path, nil).problem(404, "not_found")
	}
}

// TestLostUpdate checks that when many clients read a workflow and concurrently store different
// changes, one succeeds and the others receive a conflict (P39).
func TestLostUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tag := w.do("PUT", "/api/v1/workflows/poem", m{"document": poem}).is(200).header.Get("ETag")
	const writers = 20
	answers := make([]answer, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			answers[i] = w.do("PUT", "/api/v1/workflows/poem", m{"document": poem + strings.Repeat("#", i+1) + "\n"},
				"If-Match", tag)
		})
	}
	all.Wait()
	won := 0
	for _, a := range answers {
		if a.status == 200 {
			won++
		} else {
			a.problem(409, "conflict")
		}
	}
	if won != 1 {
		t.Errorf("%d were stored", won)
	}
}

// TestRefusedDocuments checks that no document with errors is stored, that problems have locations,
// and that checking a document executes and stores nothing (SEC4).
func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad := "agents:\n  poet: {model: own/m, instruction: Write.}\nworkflow:\n  - {id: a, type: agent, name: poet, " +
		"colour: blue}\n"
	for _, call := range []struct {
		method, path string
	}{{"POST", "/api/v1/workflows"}, {"PUT", "/api/v1/workflows/bad"}} {
		body := m{"document": bad}
		if call.method == "POST" {
			body["id"] = "bad"
		}
		p := w.do(call.method, call.path, body).problem(422, "invalid")
		if len(p.Diagnostics) != 1 || p.Diagnostics[0].Span.Start.Line != 4 {
			t.Errorf("%s: %+v", call.method, p)
		}
	}
	w.do("POST", "/api/v1/workflows", m{"document": poem}).problem(422, "invalid")
	w.do("POST", "/api/v1/workflows", m{"id": "../x", "document": poem}).problem(422, "invalid")
	w.do("PUT", "/api/v1/workflows/other", m{"document": post}).problem(422, "invalid")
	var c httpapi.Checked
	w.do("POST", "/api/v1/workflows/any/validate", m{"document": bad}).is(200).decode(&c)
	if c.OK || len(c.Diagnostics) == 0 || c.Facts != nil {
		t.Errorf("checked %+v", c)
	}
	w.do("POST", "/api/v1/workflows/any/validate", m{"document": post}).is(200).decode(&c)
	if !c.OK || c.Facts == nil || c.Facts.Name != "Post" {
		t.Errorf("checked %+v", c)
	}
	w.do("POST", "/api/v1/workflows/any/validate", nil).problem(404, "not_found")
	if a := w.do("GET", "/api/v1/workflows", nil).is(200); a.body != `{"items":[],"next":""}`+"\n" {
		t.Errorf("stored: %s", a.body)
	}
	w.do("PUT", "/api/v1/workflows/post", m{"document": post}).is(200)
	w.do("POST", "/api/v1/workflows/post/validate", nil).is(200).decode(&c)
	if !c.OK {
		t.Errorf("checked %+v", c)
	}
}

// TestAgents follows an agent through its whole life.
func TestAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	poet := m{"id": "poet", "name": "Poet", "systemPrompt": "Write.", "model": "own/m", "tools": []string{"think"},
		"maxIterations": 3}
	made := w.do("POST", "/api/v1/agents", poet).is(201)
	tag := made.header.Get("ETag")
	var got m
	made.decode(&got)
	want, _ := json.Marshal(poet)
	if have, _ := json.Marshal(got); string(have) != string(want) {
		t.Errorf("got %s, want %s", have, want)
	}
	w.do("POST", "/api/v1/agents", poet).problem(409, "conflict")
	w.do("POST", "/api/v1/agents", m{"id": "x", "tools": 5}).problem(422, "invalid")
	w.do("POST", "/api/v1/agents", `[]`).problem(422, "invalid")
	w.do("GET", "/api/v1/agents/poet", nil, "If-None-Match", tag).is(304)
	w.do("GET", "/api/v1/agents/missing", nil).problem(404, "not_found")
	delete(poet, "id")
	poet["name"] = "Bard"
	now := w.do("PUT", "/api/v1/agents/poet", poet, "If-Match", tag).is(200).header.Get("ETag")
	w.do("PUT", "/api/v1/agents/poet", poet, "If-Match", tag).problem(409, "conflict")
	w.do("PUT", "/api/v1/agents/poet", m{"id": "bard"}).problem(422, "invalid")
	w.do("PUT", "/api/v1/agents/missing", poet, "If-Match", "*").problem(404, "not_found")
	w.do("PUT", "/api/v1/workflows/user", m{"document": "workflow:\n  - {id: a, type: agent, name: poet}\n"}).is(200)
	w.do("DELETE", "/api/v1/agents/poet", nil).problem(409, "conflict")
	w.do("DELETE", "/api/v1/agents/poet?anyway=true", nil, "If-Match", tag).problem(409, "conflict")
	w.do("DELETE", "/api/v1/agents/poet?anyway=true", nil, "If-Match", now).is(204)
	w.do("DELETE", "/api/v1/agents/poet", nil).problem(404, "not_found")
}

// TestPages checks that the pages of every list of definitions add up to the whole list.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c", "d e", "é"} {
		w.do("POST", "/api/v1/workflows", m{"id": id, "document": poem}).is(201)
		w.do("POST", "/api/v1/agents", m{"id": id, "name": id, "systemPrompt": "Write."}).is(201)
		w.do("PUT", "/api/v1/workflows/a", m{"document": poem + "# " + id + "\n"}).is(200)
	}
	for path, n := range map[string]int{"/workflows": 5, "/agents": 5, "/workflows/a/versions": 6} {
		type page = httpapi.List[json.RawMessage]
		var whole page
		w.do("GET", "/api/v1"+path, nil).is(200).decode(&whole)
		if len(whole.Items) != n {
			t.Errorf("%s has %d items, want %d", path, len(whole.Items), n)
		}
		var joined []string
		for cursor := "?limit=2"; cursor != ""; {
			var p page
			w.do("GET", "/api/v1"+path+cursor, nil).is(200).decode(&p)
			for _, i := range p.Items {
				joined = append(joined, string(i))
			}
			if cursor = ""; p.Next != "" {
				cursor = "?limit=2&cursor=" + p.Next
			}
		}
		for i, item := range whole.Items {
			if i >= len(joined) || joined[i] != string(item) {
				t.Fatalf("%s: item %d of the pages is not that of the whole: %q", path, i, joined)
			}
		}
		w.do("GET", "/api/v1"+path+"?cursor=%25", nil).problem(422, "invalid")
	}
}

// TestWorkflowInputs checks X-50: a form can be built from a workflow's facts.
func TestWorkflowInputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	doc := "inputs: {city: {title: City}, days: {type: integer, default: 3}}\noutput: \"{{ $input.city " +
		"}}\"\noutput_schema: {type: string}\nworkflow: [{type: set, values: {a: 1}}]\n"
	var d httpapi.Definition
	w.do("POST", "/api/v1/workflows", m{"id": "form", "document": doc}).is(201).decode(&d)
	const want = `{"type":"object","properties":{"city":{"type":"string","title":"City"},"days":{"type":"integer",` +
		`"default":3}},"required":["city"],"additionalProperties":false}`
	if d.Facts == nil || string(d.Facts.Inputs) != want || string(d.Facts.OutputSchema) != `{"type":"string"}` {
		t.Errorf("facts %+v", d.Facts)
	}
}
