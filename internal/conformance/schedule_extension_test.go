package conformance_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

var schedulesExtended = []rule{
	{name: "X-66 cron expressions, their names, and @every", test: func(t *testing.T) {
		_, got := mindsDocument(t, scheduled(`"executionMode": "interval", "schedule": "30 0-6/2 * * *"`), 7*time.Hour)
		same(t, "runs", got, "30m0s, 2h30m0s, 4h30m0s, 6h30m0s")
		_, got = mindsDocument(t, scheduled(`"executionMode": "interval", "schedule": "@every 40m"`), 2*time.Hour+time.Minute)
		same(t, "runs of @every", got, "40m0s, 1h20m0s, 2h0m0s")
		same(t, "six fields", previews(t, "30 */20 7 * * *", "UTC", "2026-05-01T07:00:30Z", 2), "05-01 07:20+00:00, 05-01 07:40+00:00")
		same(t, "a name", previews(t, "@monthly", "UTC", "2026-05-01T00:00:00Z", 2), "06-01 00:00+00:00, 07-01 00:00+00:00")
		atSave(t, map[string]string{
			`"executionMode": "interval", "schedule": "0 24 * * *"`: `schedule "0 24 * * *": the hour is "24", not a number from 0 to 23`,
			`"executionMode": "interval", "schedule": "0 0 31 2 *"`: `schedule "0 0 31 2 *": no year has such a day`,
		})
	}},
	{name: "X-67 a date that fits the day or the weekday is enough", test: func(t *testing.T) {
		same(t, "days", previews(t, "0 0 13 * 5", "UTC", "2026-05-07T00:00:00Z", 3), "05-08 00:00+00:00, 05-13 00:00+00:00, 05-15 00:00+00:00")
	}},
	{name: "X-68 over changes of the clock", test: func(t *testing.T) {
		same(t, "once", previews(t, "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2), "10-25 02:30+02:00, 10-26 02:30+01:00")
		same(t, "each hour", previews(t, "30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 3), "10-25 02:30+02:00, 10-25 02:30+01:00, 10-25 03:30+01:00")
		same(t, "a gap", previews(t, "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 1), "03-29 03:00+02:00")
	}},
	{name: "X-69 steps and canvas documents start by themselves", test: func(t *testing.T) {
		stepsDoc := `{"schedule": "*/20 * * * *", "agents": {"a": {}}, "workflow": [{"type": "agent", "name": "a"}]}`
		canvasDoc := `{"schedule": "1200", "timeZone": "Europe/Berlin", "nodes": [{"id": "s", "type": "start", "data": {}}, {"id": "a", "type": "agent", "data": {"agentName": "a", "model": "openai/fake"}}], "connections": [{"source": "s", "target": "a"}]}`
		for _, tt := range [][2]string{{"steps", stepsDoc}, {"canvas", canvasDoc}} { // cron counts from the full hour, at which the test begins
			name, doc := tt[0], tt[1]
			_, got := mindsDocument(t, doc, time.Hour+time.Minute)
			same(t, name, got, "20m0s, 40m0s, 1h0m0s")
			wf, _ := load(t, doc)
			for _, to := range []string{"steps", "canvas", "rounds"} {
				out, err := format.Convert(wf, to)
				if err != nil || len(out.Meaning()) > 0 || !strings.Contains(string(out.Document), "20 * * * *") && !strings.Contains(string(out.Document), "1200") {
					t.Errorf("%s as %s: %v, %v\n%s", name, to, err, out.Changes, out.Document)
				}
			}
		}
		for doc, want := range map[string]string{
			`{"time_zone": "UTC", "agents": {"a": {}}, "workflow": [{"type": "agent", "name": "a"}]}`:                            "time_zone requires schedule",
			`{"schedule": "soon", "nodes": [{"id": "s", "type": "start", "data": {}}], "connections": []}`:                       `invalid schedule "soon"`,
			`{"schedule": "@daily", "timeZone": "Mars", "nodes": [{"id": "s", "type": "start", "data": {}}], "connections": []}`: `unknown time zone "Mars"`,
			`{"timeZone": "UTC", "nodes": [{"id": "s", "type": "start", "data": {}}], "connections": []}`:                        "timeZone requires schedule",
		} {
			if got := refused(t, doc, service.LoadOptions{}); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %q, want %q", doc, got, want)
			}
		}
	}},
}

var labelled = []rule{
	{name: "X-76 documents have labels, which their runs have, and conversions keep them", test: func(t *testing.T) {
		const labels = `"labels": {"team": "news", "tier": 1, "beta": true, "none": null}, `
		docs := map[string]string{
			"steps":  `{` + labels + `"agents": {"a": {}}, "workflow": [{"type": "agent", "name": "a"}]}`,
			"canvas": `{` + labels + `"nodes": [{"id": "s", "type": "start", "data": {}}, {"id": "a", "type": "agent", "data": {"agentName": "a", "model": "openai/fake"}}], "connections": [{"source": "s", "target": "a"}]}`,
			"rounds": `{` + labels + `"agents": [{"id": "a", "name": "a"}], "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "a"}}], "edges": []}`,
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
				`"labels": ["team"], `:           "labels must be a map of keys to values, got a list",
				`"labels": {"a b": "x"}, `:       `label key "a b" has other characters than letters, digits and, between them, . _ - /`,
				`"labels": {"team": "a,b"}, `:    "the value of label team has a comma",
				`"labels": {"team": {"x": 1}}, `: "the value of label team must be a text, got a map",
			} {
				if got := refused(t, strings.Replace(doc, labels, bad, 1), service.LoadOptions{}); len(got) != 1 || got[0] != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		}
	}},
}

func TestLabelled(t *testing.T) { check(t, labelled) }

func TestLabelledCovered(t *testing.T) { covered(t, labelled, "X-76") }

func TestSchedulesExtended(t *testing.T) { check(t, schedulesExtended) }

func TestSchedulesExtendedCovered(t *testing.T) {
	covered(t, schedulesExtended, "X-66", "X-67", "X-68", "X-69")
}
