package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

var schedulesExtended = []rule{
	{name: "X-66 cron expressions, their names, and @every", test: func(t *testing.T) {
		_, got := runDocumentSchedules(t, scheduled(`"executionMode": "interval", "schedule": "30 0-6/2 * * *"`),
			7*time.Hour)
		same(t, "runs", got, "30m0s, 2h30m0s, 4h30m0s, 6h30m0s")
		_, got = runDocumentSchedules(t, scheduled(`"executionMode": "interval", "schedule": "@every 40m"`),
			2*time.Hour+time.Minute)
		same(t, "runs of @every", got, "40m0s, 1h20m0s, 2h0m0s")
		same(t, "six fields", previews(t, "30 */20 7 * * *", "UTC", "2026-05-01T07:00:30Z", 2),
			"05-01 07:20+00:00, 05-01 07:40+00:00")
		same(t, "a name", previews(t, "@monthly", "UTC", "2026-05-01T00:00:00Z", 2),
			"06-01 00:00+00:00, 07-01 00:00+00:00")
		atSave(t, map[string]string{
			`"executionMode": "interval", "schedule": "0 24 * * *"`: `schedule "0 24 * * *": the hour is "24", not a ` +
				`number from 0 to 23`,
			`"executionMode": "interval", "schedule": "0 0 31 2 *"`: `schedule "0 0 31 2 *": no year has such a day`,
		})
	}},
	{name: "X-67 a date that fits the day or the weekday is enough", test: func(t *testing.T) {
		same(t, "days", previews(t, "0 0 13 * 5", "UTC", "2026-05-07T00:00:00Z", 3),
			"05-08 00:00+00:00, 05-13 00:00+00:00, 05-15 00:00+00:00")
	}},
	{name: "X-68 over changes of the clock", test: func(t *testing.T) {
		same(t, "once", previews(t, "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
			"10-25 02:30+02:00, 10-26 02:30+01:00")
		same(t, "each hour", previews(t, "30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 3),
			"10-25 02:30+02:00, 10-25 02:30+01:00, 10-25 03:30+01:00")
		same(t, "a gap", previews(t, "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 1), "03-29 03:00+02:00")
	}},
	{name: "X-69 steps and canvas documents start by themselves", test: func(t *testing.T) {
		stepsDoc := `{"schedule": "*/20 * * * *", "agents": {"a": {}}, "workflow": [{"type": "agent", "name": "a"}]}`
		canvasDoc := `{"schedule": "1200", "timeZone": "Europe/Berlin", "nodes": [{"id": "s", "type": "start", ` +
			`"data": {}}, {"id": "a", "type": "agent", "data": {"agentName": "a", "model": "openai/fake"}}], ` +
			`"connections": [{"source": "s", "target": "a"}]}`
		// cron counts from the full hour, when the test starts
		for _, tt := range [][2]string{{"steps", stepsDoc}, {"canvas", canvasDoc}} {
			name, doc := tt[0], tt[1]
			_, got := runDocumentSchedules(t, doc, time.Hour+time.Minute)
			same(t, name, got, "20m0s, 40m0s, 1h0m0s")
			wf, _ := load(t, doc)
			for _, to := range []string{"steps", "canvas", "rounds"} {
				out, err := format.Convert(wf, to)
				if err != nil || len(out.Meaning()) > 0 || !strings.Contains(string(out.Document), "20 * * * *") &&
					!strings.Contains(string(out.Document), "1200") {
					t.Errorf("%s as %s: %v, %v\n%s", name, to, err, out.Changes, out.Document)
				}
			}
		}
		for doc, want := range map[string]string{
			`{"time_zone": "UTC", "agents": {"a": {}}, "workflow": [{"type": "agent", ` +
				`"name": "a"}]}`: "time_zone requires schedule",
			`{"schedule": "soon", "nodes": [{"id": "s", "type": "start", "data": {}}], ` +
				`"connections": []}`: `invalid schedule "soon"`,
			`{"schedule": "@daily", "timeZone": "Mars", "nodes": [{"id": "s", "type": "start", "data": {}}], ` +
				`"connections": []}`: `unknown time zone "Mars"`,
			`{"timeZone": "UTC", "nodes": [{"id": "s", "type": "start", "data": {}}], ` +
				`"connections": []}`: "timeZone requires schedule",
		} {
			if got := refused(t, doc, service.LoadOptions{}); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %q, want %q", doc, got, want)
			}
		}
	}},
}

// listed returns a document in each format with these keys as its schedules and inputs.
func listed(keys string) map[string]string {
	return map[string]string{
		"steps": `{"agents": {"a": {}}, "workflow": [{"type": "agent", "name": "a", "prompt": "Weather of {{ ` +
			`$input.city }}"}], ` + keys + `}`,
		"canvas": `{"nodes": [{"id": "s", "type": "start", "data": {}}, {"id": "a", "type": "agent", "data": ` +
			`{"agentName": "a", "model": "openai/fake", "userPrompt": "Weather of {{ $input.city }}"}}],
			"connections": [{"source": "s", "target": "a"}], ` + keys + `}`,
		"rounds": `{"id": "news", "agents": [{"id": "a", "name": "a"}], "nodes": [{"id": "n", "type": "agent", ` +
			`"config": {"agentId": "a"}}], "edges": [], "turnInstruction": "Weather of {{ $input.city }}", ` + keys +
			`}`,
	}
}

const cityInput = `"inputs": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}}`

var schedulesListed = []rule{
	{name: "X-77 documents have a list of schedules, and conversions keep it", test: func(t *testing.T) {
		const list = `"schedules": [{"id": "ulm", "schedule": "1200", "inputs": {"city": "Ulm"}}, {"id": "rome", ` +
			`"schedule": "1800", "inputs": {"city": "Rome", "days": 2}}]`
		docs := listed(cityInput + ", " + list)
		for name, doc := range docs {
			w, got := runDocumentSchedules(t, doc, time.Hour+time.Minute)
			same(t, name, got, "20m0s, 30m0s, 40m0s, 1h0m0s, 1h0m0s")
			asked := strings.Join(w.prompts("a"), "; ")
			if strings.Count(asked, "Weather of Ulm") != 3 || strings.Count(asked, "Weather of Rome") != 2 {
				t.Errorf("%s: models were asked %s", name, asked)
			}
			wf, _ := load(t, doc)
			for to := range docs {
				out, err := format.Convert(wf, to)
				if err != nil {
					t.Errorf("%s as %s: %v", name, to, err)
					continue
				}
				back, _ := load(t, string(out.Document))
				same(t, name+" as "+to, back.Schedules, wf.Schedules)
			}
		}
		for keys, want := range map[string]string{
			`"schedule": "60", "schedules": []`: "schedule and schedules exclude each other",
			`"schedules": {"id": "a"}`:          "expected a list, found a map",
			`"schedules": [{"schedule": "60"}]`: `"id" is missing`,
			`"schedules": [{"id": "a b", ` +
				`"schedule": "60"}]`: `"a b" cannot be the id of a schedule`,
			`"schedules": [{"id": "a", "schedule": "60"}, {"id": "a", "schedule": ` +
				`"@daily"}]`: `schedule id "a" is used twice, first at `,
			`"schedules": [{"id": "a", "schedule": ` +
				`"soon"}]`: `invalid schedule "soon"`,
			`"schedules": [{"id": "a"}]`: "the mode interval needs a schedule",
			`"schedules": [{"id": "a", "cron": "0 9 * * *", "schedule": ` +
				`"@daily"}]`: `the key "cron" is not known here`,
			`"schedules": [` + strings.Repeat(`{"id": "a", "schedule": "60"}, `, 100) +
				`{"id": "b"}]`: "there are 101 schedules; the limit of a workflow is 100",
		} {
			for name, doc := range listed(`"inputs": {"city": {"default": "Ulm"}}, ` + keys) {
				if got := refused(t, doc); len(got) != 1 || !strings.HasPrefix(got[0], want) {
					t.Errorf("%s with %s: %q, want %q", name, keys, got, want)
				}
			}
		}
	}},
	{name: "X-77 a workflow has at most 100 schedules with its branches", test: func(t *testing.T) {
		var items []string
		for i := range 60 {
			items = append(items, fmt.Sprintf(`{"id": "s%d", "schedule": "60"}`, i))
		}
		list := `"schedules": [` + strings.Join(items, ", ") + `]`
		same(t, "problems", refused(t, branched("", "a: "+list, "b: "+list)),
			[]string{"there are 120 schedules; the limit of a workflow is 100"})
	}},
	{name: "X-77 rounds documents have modes in their lists, and a list for each branch", test: func(t *testing.T) {
		_, got := runDocumentSchedules(t, branched(`, "timeZone": "Europe/Berlin", "executionMode": "interval"`,
			`one: "schedules": [{"id": "x", "executionMode": "continuous", "schedule": "1500"}, {"id": "y", `+
				`"schedule": "2000"}]`, `two: "schedules": [{"id": "x", "schedule": "0 1 * * *"}]`),
			time.Hour+time.Minute)
		same(t, "runs", got, "one 0s, one 25m0s, one 33m20s, one 50m0s")
		for keys, want := range map[string]string{
			`"executionMode": "interval", "schedules": [{"id": "a", "schedule": "60"}]`: "executionMode and " +
				"schedules exclude each other",
			`"schedules": [{"id": "a", "executionMode": "one_time", ` +
				`"schedule": "60"}]`: "a schedule has no mode one_time",
		} {
			same(t, keys, refused(t, scheduled(keys)), []string{want})
		}
	}},
	{name: "X-78 inputs of schedules are checked with the document", test: func(t *testing.T) {
		for keys, want := range map[string]string{
			`"schedules": [{"id": "a", "schedule": "60", "inputs": {"city": 7, "days": "x"}}]`: `runs of the ` +
				`schedule would be refused: the input "days" must be a whole number, not a string`,
			`"schedules": [{"id": "a", "schedule": "60", "inputs": {"town": "Ulm"}}]`: `runs of the ` +
				`schedule would be refused: the workflow has no input "town"`,
			`"schedules": [{"id": "a", "schedule": "60"}]`: `runs of the ` +
				`schedule would be refused: the input "city" is missing`,
			`"schedules": [{"id": "a", "schedule": "60", "inputs": ["Ulm"]}]`: "inputs of a " +
				"schedule must be a map of names to values, found a list",
			`"schedule": "60"`: `runs of the schedule would be refused: the input "city" is missing`,
		} {
			for name, doc := range listed(cityInput + ", " + keys) {
				if name == "rounds" && !strings.Contains(keys, "schedules") {
					doc = strings.Replace(doc, `"schedule"`, `"executionMode": "interval", "schedule"`, 1)
				}
				if got := refused(t, doc); !slices.Contains(got, want) {
					t.Errorf("%s with %s: %q, want %q", name, keys, got, want)
				}
			}
		}
		same(t, "no inputs",
			refused(t, scheduled(`"schedules": [{"id": "a", "schedule": "60", "inputs": {"city": "Ulm"}}]`)),
			[]string{"the workflow has no inputs"})
	}},
	{name: "X-79 overlaps are those of one schedule", test: func(t *testing.T) {
		const doc = `{"agents": {"a": {}}, "workflow": [{"id": "w", "type": "sleep", "for": "50m"}], "schedules": ` +
			`[{"id": "x", "schedule": "20 * * * *"}, {"id": "y", "schedule": "*/30 * * * *"}]}`
		_, got := runDocumentSchedules(t, doc, 2*time.Hour+time.Minute) // at 60 min the run of y is still sleeping
		same(t, "runs", got, "20m0s, 30m0s, 1h20m0s, 1h30m0s")
	}},
}

func TestSchedulesListed(t *testing.T) { check(t, schedulesListed) }

func TestSchedulesListedCovered(t *testing.T) { covered(t, schedulesListed, "X-77", "X-78", "X-79") }

var labelled = []rule{
	{name: "X-76 documents have labels, which their runs have, and conversions keep them", test: func(t *testing.T) {
		const labels = `"labels": {"team": "news", "tier": 1, "beta": true, "none": null}, `
		docs := map[string]string{
			"steps": `{` + labels + `"agents": {"a": {}}, "workflow": [{"type": "agent", "name": "a"}]}`,
			"canvas": `{` + labels + `"nodes": [{"id": "s", "type": "start", "data": {}}, {"id": "a", "type": ` +
				`"agent", "data": {"agentName": "a", "model": "openai/fake"}}], "connections": [{"source": "s", ` +
				`"target": "a"}]}`,
			"rounds": `{` + labels + `"agents": [{"id": "a", "name": "a"}], "nodes": [{"id": "n", "type": "agent", ` +
				`"config": {"agentId": "a"}}], "edges": []}`,
		}
		want := workflow.Labels{"team": "news", "tier": "1", "beta": "true", "none": ""}
		for name, doc := range docs {
			wf, _ := load(t, doc)
			if !maps.Equal(wf.Labels, want) {
				t.Errorf("%s has %v", name, wf.Labels)
			}
			for to := range docs {
				out, err := format.Convert(wf, to)
				if err != nil || len(out.Meaning()) > 0 {
					t.Errorf("%s as %s: %v, %v", name, to, err, out.Changes)
					continue
				}
				if back, _ := load(t, string(out.Document)); !maps.Equal(back.Labels, want) {
					t.Errorf("%s as %s has %v", name, to, back.Labels)
				}
			}
			for bad, want := range map[string]string{
				`"labels": ["team"], `: "labels must be a map of keys to values, got a list",
				`"labels": {"a b": "x"}, `: `label key "a b" has other characters than letters, digits and, ` +
					`between them, . _ - /`,
				`"labels": {"team": "a,b"}, `:    "the value of label team has a comma",
				`"labels": {"team": {"x": 1}}, `: "the value of label team must be a text, got a map",
				`"labels": {"hocket/x": "1"}, `: `label key "hocket/x" is reserved: keys that begin with hocket/ ` +
					`are for Hocket`,
				manyLabels(33) + ", ": "there are 33 labels; the limit is 32",
			} {
				if got := refused(t, strings.Replace(doc, labels, bad, 1), service.LoadOptions{}); len(got) != 1 ||
					got[0] != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		}
	}},
	{name: "X-114 labels of Hocket have room beside as many as a document and a run can have",
		test: func(t *testing.T) {
			w := newWorld(t)
			doc := manyLabels(workflow.MaxLabels) + "\n" + steps("a", `- {type: set, values: {in: "x"}}`+"\n")
			w.storeDocument("below", doc)
			r := w.runs(parent, "go", func(q *service.StartRequest) {
				q.Labels = workflow.Labels{"hocket/test-run": "true"}
			})
			r.is(event.StatusCompleted)
			for _, one := range append(r.childRuns(), w.runs(doc, "go", func(q *service.StartRequest) {
				q.Labels = workflow.Labels{"hocket/test-run": "true"}
			})) {
				h, err := w.Head(t.Context(), one.id)
				if err != nil {
					t.Fatal(err)
				}
				same(t, "labels", []string{fmt.Sprint(len(h.Labels)), h.Labels["hocket/test-run"], h.Labels["k31"]},
					[]string{"33", "true", "x"})
			}
			own := workflow.Labels{}
			for i := range workflow.MaxOwnLabels + 1 {
				own[fmt.Sprint(workflow.OwnLabels, i)] = "x"
			}
			for _, many := range []workflow.Labels{{"one-more": "x"}, own} {
				wf, _ := load(t, doc)
				_, err := w.Start(t.Context(), service.StartRequest{Workflow: wf, Input: "go", Labels: many})
				code, _ := errcode.Of(err)
				same(t, "refused", code, errcode.InvalidLabels)
			}
		}},
	{name: "X-112 a child run has the labels of the run above, and of its own as many as fit",
		test: func(t *testing.T) {
			w := newWorld(t)
			var own []string
			for i := range workflow.MaxLabels {
				own = append(own, fmt.Sprintf("k%02d: below", i))
			}
			w.storeDocument("below", "labels: {"+strings.Join(own, ", ")+"}\n"+
				steps("a", `- {type: set, values: {in: "x"}}`+"\n"))
			r := w.runs(parent, "go", func(q *service.StartRequest) {
				q.Labels = workflow.Labels{"team": "news", "k00": "above"}
			})
			r.is(event.StatusCompleted)
			kids := r.childRuns()
			same(t, "child runs", len(kids), 1)
			h, err := w.Head(t.Context(), kids[0].id)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "labels", []string{fmt.Sprint(len(h.Labels)), h.Labels["team"], h.Labels["k00"], h.Labels["k01"],
				h.Labels["k31"]}, []string{"32", "news", "above", "below", ""})
		}},
	{name: "X-112 branches have labels, over which those of a run of all branches win", test: func(t *testing.T) {
		doc := branched(`, "labels": {"team": "news", "tier": "1"}`,
			`one: "labels": {"team": "sport", "tier": "2", "only": "one"}`, `two: "name": "Two"`)
		w := newWorld(t)
		wf, _ := load(t, doc)
		labels := func(branch string) map[string]workflow.Labels {
			r := w.runs(doc, "go", func(q *service.StartRequest) {
				q.Branch, q.Labels = branch, workflow.Labels{"team": "desk"}
			})
			out := map[string]workflow.Labels{}
			for _, id := range append(r.childRuns(), r) {
				h, err := w.Head(t.Context(), id.id)
				if err != nil {
					t.Fatal(err)
				}
				out[h.Branch] = h.Labels
			}
			return out
		}
		same(t, "one", labels("one"), map[string]workflow.Labels{"one": {"team": "desk", "tier": "2", "only": "one"}})
		same(t, "all", labels(service.AllBranches), map[string]workflow.Labels{
			"": {"team": "desk", "tier": "1"}, "one": {"team": "desk", "tier": "1", "only": "one"},
			"two": {"team": "desk", "tier": "1"},
		})
		out, err := format.Convert(wf, "rounds")
		if err != nil || len(out.Meaning()) > 0 {
			t.Fatal(out.Changes, err)
		}
		back, _ := load(t, string(out.Document))
		same(t, "labels of the branch", back.Branches[0].Labels, wf.Branches[0].Labels)
	}},
}

// manyLabels returns the key `labels` of a document, with n labels.
func manyLabels(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"k%02d": "x"`, i))
	}
	return `"labels": {` + strings.Join(all, ", ") + "}"
}

func TestLabels(t *testing.T) { check(t, labelled) }

func TestLabelsCovered(t *testing.T) { covered(t, labelled, "X-76", "X-112", "X-114") }

func TestScheduleExtensions(t *testing.T) { check(t, schedulesExtended) }

func TestScheduleExtensionsCovered(t *testing.T) {
	covered(t, schedulesExtended, "X-66", "X-67", "X-68", "X-69")
}
