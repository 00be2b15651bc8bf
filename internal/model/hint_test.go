package model_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/model"
)

// TestWrongModelHint checks that a model that the provider does not know gets a hint; other
// failures get none.
func TestWrongModelHint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ref    string
		failed model.Error
		want   string
	}{
		{"openai/gpt-4.1-mni", model.Error{Kind: model.KindNotFound, Status: 404,
			Message: "The model `gpt-4.1-mni` does not exist or you do not have access to it."},
			"did you mean openai/gpt-4.1-mini?"},
		{"openai/gpt5", model.Error{Kind: model.KindInvalidRequest, Status: 400, Message: "invalid model ID"},
			"did you mean openai/gpt-5?"},
		{"openai/hous-large", model.Error{Kind: model.KindInvalidRequest, Status: 404, Message: "model not found"},
			"did you mean openai/house-large?"},
		{"openai/zzz", model.Error{Kind: model.KindInvalidRequest, Status: 404, Message: "model not found"},
			"(the model is openai/zzz)"},
		{"openai/gpt-4p", model.Error{Kind: model.KindInvalidRequest, Status: 400, Message: "bad temperature"}, ""},
		{"openai/gpt-4.1-mni", model.Error{Kind: model.KindInvalidRequest, Status: 400,
			Message: "Model gpt-4.1-mni is not supported"}, "did you mean openai/gpt-4.1-mini?"},
		{"openai/gpt-4.1-x", model.Error{Kind: model.KindInvalidRequest, Status: 400,
			Message: "Unsupported parameter: 'max_tokens' is not supported with this model."}, ""},
		{"openai/gpt-4p", model.Error{Kind: model.KindRateLimit, Status: 429,
			Message: "the model is not found of late"}, ""},
	} {
		r := model.NewRegistry(model.Config{Clients: map[string]model.Client{"openai": fixedClient{err: &tc.failed}},
			Known: []string{"openai/house-large"}})
		_, err := r.Call(t.Context(), model.Request{Model: tc.ref}, nil)
		text := strings.TrimPrefix(err.Error(), tc.failed.Error())
		if tc.want == "" && text != "" || !strings.Contains(text, tc.want) {
			t.Errorf("%s: %v; want %q", tc.ref, err, tc.want)
		}
	}
}
