package model_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/model"
)

// TestModelParams checks that the parameters of a defined model fill in those that a request does
// not set, and override none that it sets.
func TestModelParams(t *testing.T) {
	t.Parallel()
	number := func(v float64) *float64 { return &v }
	tokens := func(v int64) *int64 { return &v }
	var got model.Request
	r := model.NewRegistry(model.Config{
		Models: map[string]model.Def{"fast": {Provider: "lab", Model: "m", Params: model.Params{
			Temperature: number(0.2), TopP: number(1), MaxTokens: tokens(10), ReasoningEffort: "low",
			Stop:            []string{"x"},
			ProviderOptions: map[string]json.RawMessage{"seed": json.RawMessage("1"), "user": json.RawMessage(`"u"`)},
		}}},
		Providers: map[string]model.ProviderDef{"lab": {BaseURL: "http://localhost:1/v1", Key: "${env.K}",
			Trusted: true, Operator: true, Omit: []string{"stop"}}},
		Secret: func(ref string) (string, error) { return "value of " + ref, nil },
		Adapters: map[model.Protocol]model.Factory{model.ProtocolOpenAI: func(e model.Endpoint) (model.Client, error) {
			if e.Key != "value of ${env.K}" || !e.Named {
				t.Errorf("endpoint %v with the key %q", e, e.Key)
			}
			return captureClient{&got}, nil
		}},
	})
	zero := number(0)
	asked := model.Params{Temperature: zero, ProviderOptions: map[string]json.RawMessage{"seed": json.RawMessage("2")}}
	if _, err := r.Call(t.Context(), model.Request{Model: "fast", Params: asked}, nil); err != nil {
		t.Fatal(err)
	}
	want := model.Params{
		Temperature: zero, TopP: number(1), MaxTokens: tokens(10), ReasoningEffort: "low", Stop: []string{"x"},
		ProviderOptions: map[string]json.RawMessage{"seed": json.RawMessage("2"), "user": json.RawMessage(`"u"`)},
	}
	if diff := cmp.Diff(got.Params, want); diff != "" || got.Model != "m" ||
		!slices.Equal(got.Omit, []string{"stop"}) {
		t.Errorf("model %q, params (-got +want):\n%s", got.Model, diff)
	}
	if _, err := r.Call(t.Context(), model.Request{Model: "lab/m"}, nil); err != nil ||
		!cmp.Equal(got.Params, model.Params{}) {
		t.Errorf("a model by its full name has parameters: %+v, %v", got.Params, err)
	}
}

// captureClient is a client that keeps the last request.
type captureClient struct{ last *model.Request }

func (k captureClient) Call(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	*k.last = req
	return model.Reply{}, nil
}
