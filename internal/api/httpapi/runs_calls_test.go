package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/service"
)

// TestCalls checks that a request is shown with its prompts, that long prompts are truncated, never
// within a character, and that they are complete on request.
func TestCalls(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, service.Memory, longReplyModel(70_000))
	start := w.do("POST", "/api/v1/runs?wait=1m", m{
		"document": `{"name":"d","nodes":[{"id":"s","type":"start","data":{"initialInput":"x"}},
			{"id":"a","type":"agent","data":{"agentName":"ann","systemPrompt":"Be ` +
			`short.","userPrompt":"go","model":"own/m"}},
			{"id":"b","type":"agent","data":{"agentName":"ben","userPrompt":"On {{PREVIOUS_OUTPUT}}","model":"own/m"}}],
			"connections":[{"source":"s","target":"a"},{"source":"a","target":"b"}]}`,
	}).is(http.StatusCreated)
	var run struct{ ID string }
	start.decode(&run)
	type request struct {
		Model    string
		Ended    bool
		Messages []struct {
			Role, Text string
			Bytes      int
		}
		Tools []any
	}
	get := func(path string) (r request) {
		t.Helper()
		w.do("GET", "/api/v1/runs/"+run.ID+"/calls/"+path, nil).is(http.StatusOK).decode(&r)
		return r
	}
	if r := get("2.0.1"); r.Model != "own/m" || !r.Ended || len(r.Messages) != 2 || r.Messages[0].Role != "system" ||
		r.Messages[0].Text != "Be short." || r.Messages[1].Text != "go" || r.Tools == nil {
		t.Errorf("got %.300v", r)
	}
	const size = 70_000 + len("On ")
	if r := get("3.0.1?attempt=1&short=1000"); len(r.Messages) != 2 || r.Messages[1].Bytes != size ||
		len(r.Messages[1].Text) > 1000 || len(r.Messages[1].Text) < 996 || !utf8.ValidString(r.Messages[1].Text) {
		t.Errorf("got %.300v", r)
	}
	if r := get("3.0.1?short=0"); len(r.Messages) != 2 || len(r.Messages[1].Text) != size ||
		!strings.HasPrefix(r.Messages[1].Text, "On ann") {
		t.Errorf("a whole text has %d bytes", len(r.Messages[1].Text))
	}
	for _, path := range []string{"2.0.9", "2.0.1?attempt=2", "x"} {
		w.do("GET", "/api/v1/runs/"+run.ID+"/calls/"+path, nil).problem(http.StatusNotFound, "not_found")
	}
	w.do("GET", "/api/v1/runs/nothing/calls/2.0.1", nil).problem(http.StatusNotFound, "not_found")
}
