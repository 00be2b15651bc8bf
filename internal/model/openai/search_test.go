package openai_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/modeltest"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	for _, fault := range []modeltest.Fault{"", modeltest.FaultWhole} {
		srv := modeltest.Start(t, func(modeltest.Request) modeltest.Answer {
			return modeltest.Answer{Text: "It rained.", Fault: fault,
				Sources: []modeltest.Source{{Title: "Rain", URL: "https://rain.example/"}}}
		})
		reply, err := newClient(t, srv, "k", true).Call(t.Context(), model.Request{
			Model: "gpt-4o-search-preview", Search: true,
			Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("Rain?")}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(reply.Message.Text.String(),
			"It rained.\n\nSources:\n- Rain: https://rain.example/"); d != "" {
			t.Errorf("%q: -got +want\n%s", fault, d)
		}
		var got, want any
		if err := json.Unmarshal(srv.Requests()[0].Body, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(
			[]byte(`{"model":"gpt-4o-search-preview","stream":true,"stream_options":{"include_usage":true},
			"messages":[{"role":"user","content":"Rain?"}],"web_search_options":{"search_context_size":"medium"}}`),
			&want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("%q: body: -got +want\n%s", fault, d)
		}
	}
}

// TestSearchRefused checks that a search is never requested from a server that is merely
// compatible, nor from a model without one; nothing is sent.
func TestSearchRefused(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	for name, tc := range map[string]struct {
		own   bool
		model string
		tools []chat.ToolDef
	}{
		"compatible server": {false, "gpt-4o-search-preview", nil}, "model without": {true, "gpt-5-mini", nil},
		"beside tools": {true, "gpt-4o-search-preview", []chat.ToolDef{{Name: "f"}}},
	} {
		req := model.Request{Model: tc.model, Search: true, Tools: tc.tools,
			Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("x")}}}
		_, err := newClient(t, srv, "k", tc.own).Call(t.Context(), req, nil)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != model.KindInvalidRequest {
			t.Errorf("%s: got %v; want an invalid request", name, err)
		}
	}
	if n := srv.Count(""); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
