package anthropic_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/anthropic"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/outbound"
)

// TestSearchRoundTrip checks the API's search: the request, and that its blocks are sent back
// unchanged while our list of sources is not.
func TestSearchRoundTrip(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, func(r modeltest.Request) modeltest.Answer {
		if r.Seq > 1 {
			return modeltest.Answer{Text: "again"}
		}
		return modeltest.Answer{Text: "It rained.", Reasoning: "hm", SearchQuery: "rain",
			Sources: []modeltest.Source{{Title: "Rain", URL: "https://rain.example/"}}}
	})
	c := newClient(t, srv, "k")
	req := model.Request{
		Model: "claude-sonnet-4-5", Search: true,
		Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("Rain?")}},
		Tools:    []chat.ToolDef{{Name: "f", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}},
	}
	reply, err := c.Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "It rained.\n\nSources:\n- Rain: https://rain.example/"
	if d := cmp.Diff(reply.Message.Text.String(), want); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
	wantBody(t, srv.Requests()[0].Body, `{"model":"claude-sonnet-4-5","max_tokens":16384,"stream":true,
		"messages":[{"role":"user","content":[{"type":"text","text":"Rain?"}]}],
		"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}},{"type":"web_search_20250305",`+
		`"name":"web_search","max_uses":5}]}`)

	req.Messages = append(req.Messages, reply.Message, chat.Message{Role: chat.RoleUser, Text: chat.NewText("Sure?")})
	if _, err := c.Call(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(srv.Requests()[1].Body, &body); err != nil {
		t.Fatal(err)
	}
	wantBody(t, body.Messages, `[{"role":"user","content":[{"type":"text","text":"Rain?"}]},
		{"role":"assistant","content":[
			{"type":"thinking","thinking":"hm","signature":"sig-1"},
			{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"rain"},`+
		`"caller":{"type":"direct"}},
			{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","caller":{"type":"direct"},"content":[
				{"type":"web_search_result","title":"Rain","url":"https://rain.example/","encrypted_content":"enc-0",`+
		`"page_age":null}]},
			{"type":"text","text":"It rained."}]},
		{"role":"user","content":[{"type":"text","text":"Sure?"}]}]`)
}

// TestSearchRefused checks that a search is never requested from a server other than the API, nor
// from a model without one; nothing is sent.
func TestSearchRefused(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	http := outbound.New(outbound.Config{Allow: []string{srv.URL()}})
	t.Cleanup(http.CloseIdleConnections)
	for name, tc := range map[string]struct {
		own   bool
		model string
	}{
		"compatible server": {false, "claude-sonnet-4-5"}, "old model": {true, "claude-3-opus-20240229"},
		"unknown model": {true, "other"},
	} {
		c, err := anthropic.New(anthropic.Config{BaseURL: srv.URL(), Own: tc.own, HTTP: http})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Call(t.Context(), model.Request{Model: tc.model, Search: true,
			Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("x")}}}, nil)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != model.KindInvalidRequest {
			t.Errorf("%s: got %v; want an invalid request", name, err)
		}
	}
	if n := srv.Count(""); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestPausedTurn checks that a turn paused by the API is not a reply.
func TestPausedTurn(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "so far", Finish: "pause_turn"}
	})
	_, err := newClient(t, srv, "k").Call(t.Context(), model.Request{Model: "claude-x", Search: true,
		Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("x")}}}, nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.KindServer || failed.Usage == nil {
		t.Errorf("got %v; want a server's failure that tells its usage", err)
	}
}
