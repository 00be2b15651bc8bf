package google_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/google"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/outbound"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "It rained.", SearchQuery: "rain",
			Sources: []modeltest.Source{{Title: "Rain", URL: "https://rain.example/"}}}
	})
	reply, err := newClient(t, srv.URL(), "k").Call(t.Context(), model.Request{
		Model: "gemini-2.5-flash", Search: true,
		Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("Rain?")}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(reply.Message.Text.String(), "It rained.\n\nSources:\n- Rain: https://rain.example/"); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
	wantBody(t, srv.Requests()[0].Body,
		`{"contents":[{"role":"user","parts":[{"text":"Rain?"}]}],"generationConfig":{},"tools":[{"googleSearch":{}}]}`)
}

// TestSearchRefused checks that a search is never requested from a server other than the API, nor
// along with functions; nothing is sent.
func TestSearchRefused(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	http := outbound.New(outbound.Config{Allow: []string{srv.URL()}})
	t.Cleanup(http.CloseIdleConnections)
	for name, tc := range map[string]struct {
		own   bool
		model string
		tools []chat.ToolDef
	}{
		"compatible server": {false, "gemini-2.5-flash", nil}, "old model": {true, "gemini-1.5-pro", nil},
		"beside functions": {true, "gemini-2.5-flash", []chat.ToolDef{{Name: "f"}}},
	} {
		c, err := google.New(google.Config{BaseURL: srv.URL(), Own: tc.own, HTTP: http})
		if err != nil {
			t.Fatal(err)
		}
		req := model.Request{Model: tc.model, Search: true, Tools: tc.tools,
			Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("x")}}}
		_, err = c.Call(t.Context(), req, nil)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != model.KindInvalidRequest {
			t.Errorf("%s: got %v; want an invalid request", name, err)
		}
	}
	if n := srv.Count(""); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
