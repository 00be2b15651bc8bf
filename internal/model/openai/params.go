package openai

import (
	"cmp"
	"slices"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// Names of parameters that every request has.
const (
	streamField   = "stream"
	streamOptions = "stream_options"
)

// params builds the request body except its messages. Params.ThinkingBudget has no counterpart in
// Chat Completions.
func (c *Client) params(req model.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:            req.Model,
		Messages:         []sdk.ChatCompletionMessageParamUnion{},
		Temperature:      opt(req.Params.Temperature),
		TopP:             opt(req.Params.TopP),
		FrequencyPenalty: opt(req.Params.FrequencyPenalty),
		PresencePenalty:  opt(req.Params.PresencePenalty),
		ReasoningEffort:  shared.ReasoningEffort(req.Params.ReasoningEffort),
	}
	if !slices.Contains(req.Omit, streamField) && !slices.Contains(req.Omit, streamOptions) {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	// OpenAI's newer models accept only max_completion_tokens, many compatible servers only
	// max_tokens. One of them is always sent: budgets depend on it.
	if slices.Contains(req.Omit, "max_tokens") || c.cfg.Own && !slices.Contains(req.Omit, "max_completion_tokens") {
		p.MaxCompletionTokens = opt(req.Params.MaxTokens)
	} else {
		p.MaxTokens = opt(req.Params.MaxTokens)
	}
	if len(req.Params.Stop) > 0 {
		p.Stop.OfStringArray = req.Params.Stop
	}
	for _, tool := range req.Tools {
		def := shared.FunctionDefinitionParam{Name: tool.Name, Parameters: adapter.ToolSchema(tool.Parameters)}
		if tool.Description != "" {
			def.Description = param.NewOpt(tool.Description)
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(def))
	}
	if req.Search {
		p.WebSearchOptions.SearchContextSize = "medium" // the default; an empty object would be omitted
	}
	if req.Schema != nil {
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name:   adapter.CallName(cmp.Or(req.Schema.Name, "output")),
				Schema: adapter.Object(req.Schema.JSON),
				Strict: param.NewOpt(req.Schema.Strict),
			}}
	}
	return p
}

func opt[T comparable](v *T) param.Opt[T] {
	if v == nil {
		return param.Opt[T]{}
	}
	return param.NewOpt(*v)
}
