package httpapi_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// FuzzLists checks that for any keys and values in a list's query, quotes above all, an unknown key
// yields 400, no response is an internal error, and stored data is unchanged (SEC7).
func FuzzLists(f *testing.F) {
	for _, text := range []string{"'", `"`, "`", "';DROP TABLE runs;--", `" OR "1"="1`, "status'", "a]", "$.x", "%",
		"_", "\\", "\x00", "\xff", "é", " ", "status", "cursor", "limit", "workflow", "-1", "AAAA"} {
		f.Add(text, text)
		f.Add("workflow", text)
		f.Add("cursor", text)
		f.Add("status", text)
		f.Add("limit", text)
	}
	world := newWorldOn(f, filepath.Join(f.TempDir(), "hocket.db"))
	world.do("PUT", "/api/v1/workflows/kept", m{"document": poem}).is(200)
	world.do("POST", "/api/v1/runs?wait=1m", m{"workflow": "kept"}).is(201)
	var lists []httpapi.Operation
	known := map[string][]string{}
	for _, op := range world.api.Operations() {
		params := document().Paths.Find(op.Path).GetOperation(op.Method).Parameters
		if op.Method == http.MethodGet && !strings.Contains(op.Path, "{") &&
			params.GetByInAndName("query", "limit") != nil {
			lists = append(lists, op)
		}
		for _, p := range params {
			known[op.Path] = append(known[op.Path], p.Value.Name)
		}
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		w := world.withT(t)
		for _, op := range lists {
			a := w.do("GET", op.Path+"?"+url.QueryEscape(key)+"="+url.QueryEscape(value), nil)
			switch isKnown := slices.Contains(known[op.Path], key); {
			case !isKnown && a.status != 400:
				t.Errorf("%s with the key %q: %d", op.Path, key, a.status)
			case isKnown && a.status != 200 && a.status != 422:
				t.Errorf("%s with %s=%q: %d", op.Path, key, value, a.status)
			}
		}
		var kept httpapi.List[httpapi.RunLine]
		w.do("GET", "/api/v1/runs?workflow=kept", nil).is(200).decode(&kept)
		if len(kept.Items) != 1 {
			t.Errorf("there are %d runs", len(kept.Items))
		}
	})
}

// TestListResources checks the lists of the tools and models that documents may use.
func TestListResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, says := range map[string]string{"/tools": `{"name":"think","type":"think","named":false`,
		"/models": `{"name":"own","kind":"provider","usable":true`, "/schedules": `"items":[]`} {
		if a := w.do("GET", "/api/v1"+path, nil).is(200); !strings.Contains(a.body, says) {
			t.Errorf("%s does not say %s: %s", path, says, a.body)
		}
	}
}

// TestSchedules checks the schedules of a stored workflow and their next times.
func TestSchedules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	doc := `{"id": "news", "name": "News", "nodes": [], "edges": [], "branches": [{"id": "morning", "name": ` +
		`"Morning", "executionMode": "interval", "schedule": "daily@07:30", "timeZone": "Europe/Berlin",
  "nodes": [{"id": "a", "type": "agent", "config": {"agentId": "desk"}}], "edges": []}], "agents": [{"id": "desk", ` +
		`"name": "Desk", "systemPrompt": "Write.", "model": "own/m"}]}`
	w.do("PUT", "/api/v1/workflows/news", m{"document": doc}).is(200)
	var list httpapi.List[httpapi.Scheduled]
	w.do("GET", "/api/v1/schedules", nil).is(200).decode(&list)
	if len(list.Items) != 1 || *list.Items[0].Branch != "morning" || list.Items[0].Spec != "daily@07:30" ||
		list.Items[0].Next == nil || list.Items[0].Problem != "" {
		t.Errorf("schedules %+v", list)
	}
	var p httpapi.Preview
	w.do("GET", "/api/v1/schedules/preview?workflow=news&from=2026-03-28T12:00:00Z&count=2&tz=Europe/Berlin",
		nil).is(200).decode(&p)
	if len(p.Times) != 2 || p.Times[0].UTC().Hour() != 5 || p.Zone != "Europe/Berlin" {
		t.Errorf("preview %+v", p)
	}
	w.do("GET", "/api/v1/schedules/preview?workflow=news&from=9998-12-31T12:00:00Z&count=100&tz=Pacific/Kiritimati",
		nil).is(200)
	w.do("GET", "/api/v1/schedules?tz=Mars", nil).problem(422, "invalid")
	w.do("GET", "/api/v1/schedules/preview?workflow=news&from=9999-12-31", nil).problem(422, "invalid")
	w.do("GET", "/api/v1/schedules/preview?workflow=news&from=9999-12-31T00:00:00Z", nil).problem(422, "invalid")
	w.do("GET", "/api/v1/schedules/preview?workflow=news&branch=evening", nil).problem(422, "invalid")
	w.do("GET", "/api/v1/schedules/preview?workflow=missing", nil).problem(404, "not_found")
	w.do("GET", "/api/v1/schedules/preview", nil).problem(422, "invalid")
}
