package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// TestInputsOfEvents checks that an event shows an input that is composed of outputs as a recipe
// with its length and SHA-256, and with expand as a string, as all other views do. A long input is
// a reference, and its full value is at href.
func TestInputsOfEvents(t *testing.T) {
	t.Parallel()
	const doc = "agents:\n  w: {model: own/m, instruction: Write.}\nworkflow:\n  steps:\n" +
		"    - {id: a, type: agent, name: w}\n    - {id: b, type: agent, name: w}\n    - {id: c, type: agent, " +
		"name: w}\n"
	// values shown in full, values that have tokens, and values stored outside the records
	for _, size := range []int{100, 5_000, 40_000} {
		w := newWorldWith(t, service.Memory, longReplyModel(size))
		one := longText("w", size)
		want := "--- Prior Step Outputs ---\n\n[a (agent: w)]:\n" + one + "\n\n[b (agent: w)]:\n" + one +
			"\n\n--- End Prior Step Outputs ---\n\ngo"
		at := w.do("POST", "/api/v1/runs?wait=1m", m{"document": doc, "input": "go"}).is(201).header.Get("Location")
		started := func(query string) (event string, data struct {
			Input  json.RawMessage
			Recipe *struct {
				Bytes  int
				SHA256 string
				Parts  []json.RawMessage
			}
		}) {
			var page struct{ Items []json.RawMessage }
			w.do("GET", at+"/events"+query, nil).is(200).decode(&page)
			for _, e := range page.Items {
				var shown struct {
					Type string
					Data json.RawMessage
				}
				if err := json.Unmarshal(e, &shown); err == nil && shown.Type == "step.started" {
					event = string(e)
					data.Input, data.Recipe = nil, nil
					if err := json.Unmarshal(shown.Data, &data); err != nil {
						t.Fatal(err)
					}
				}
			}
			return event, data
		}
		_, short := started("")
		if r := short.Recipe; r == nil || short.Input != nil || r.Bytes != len(want) ||
			r.SHA256 != journal.HashOf([]byte(want)) || len(r.Parts) != 5 {
			t.Errorf("the event has the input %.100s and the recipe %+v", short.Input, short.Recipe)
		}
		event, long := started("?expand=1")
		if long.Recipe != nil {
			t.Errorf("an expanded event has the recipe %+v", long.Recipe)
		}
		checkLong(t, w, event, len(want), want, "data", "input")
		const stream = "text/event-stream"
		if a := w.do("GET", at+"/events?expand=1", nil, "Accept", stream).is(200); !strings.Contains(a.body, event) ||
			strings.Contains(a.body, `"recipe"`) {
			t.Errorf("an expanded stream has other events: %.2000s", a.body)
		}
		if a := w.do("GET", at+"/events?expand=false", nil, "Accept", stream).is(200); strings.Contains(a.body,
			event) || !strings.Contains(a.body, `"recipe"`) {
			t.Errorf("a stream that is not expanded has no recipe: %.2000s", a.body)
		}
		checkLong(t, w, w.do("GET", at, nil).is(200).body, len(want), want, "steps", "last", "input")
		checkLong(t, w, w.do("GET", at+"/steps/3", nil).is(200).body, len(want), want, "input")
		checkLong(t, w, w.do("GET", at+"/trail", nil).is(200).body, len(want), want, "items", "last", "prompt")
		var logs struct{ Items []json.RawMessage }
		w.do("GET", at+"/logs", nil).is(200).decode(&logs)
		seen := 0
		for i, one := range logs.Items {
			if strings.Contains(string(one), `"start-prompt"`) || strings.Contains(string(one), `Prior Step Outputs`) {
				if seen = i; i == len(logs.Items)-1 {
					break
				}
			}
		}
		checkLong(t, w, string(logs.Items[seen]), len(want), want, "content")
	}
}
