package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// defaultMaxTokens is sent where the caller sets no bound, because the API demands one. What a thinking budget takes comes on top.
const defaultMaxTokens = 16384

// maxSearches bounds the web searches of one answer, well below the number at which the API pauses a turn.
const maxSearches = 5

// emptyText stands where the API refuses an empty text: a workflow may well begin without input.
const emptyText = "(empty)"

// params builds the body of a request but for its messages. The penalties have no counterpart here.
func params(req model.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{
		Model:         req.Model,
		MaxTokens:     defaultMaxTokens,
		System:        system(req),
		Messages:      []sdk.MessageParam{},
		Temperature:   opt(req.Params.Temperature),
		TopP:          opt(req.Params.TopP),
		StopSequences: req.Params.Stop,
	}
	if budget := req.Params.ThinkingBudget; budget != nil {
		switch {
		case *budget < 0:
			p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
		case *budget == 0:
			p.Thinking.OfDisabled = &sdk.ThinkingConfigDisabledParam{}
		default:
			p.Thinking.OfEnabled = &sdk.ThinkingConfigEnabledParam{BudgetTokens: *budget}
			p.MaxTokens += *budget
		}
	}
	if req.Params.MaxTokens != nil {
		p.MaxTokens = *req.Params.MaxTokens
	}
	p.OutputConfig.Effort = sdk.OutputConfigEffort(req.Params.ReasoningEffort)
	for _, tool := range req.Tools {
		p.Tools = append(p.Tools, toolParam(tool.Name, tool.Description, adapter.Object(tool.Parameters)))
	}
	if req.Search {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfWebSearchTool20250305: &sdk.WebSearchTool20250305Param{MaxUses: param.NewOpt[int64](maxSearches)}})
	}
	if req.Schema == nil {
		return p
	}
	if name := schemaTool(req); name != "" {
		p.Tools = append(p.Tools, toolParam(name, "Gives the final answer. Call it exactly once, when the answer is complete.", adapter.Object(req.Schema.JSON)))
		if len(req.Tools) > 0 {
			p.ToolChoice.OfAny = &sdk.ToolChoiceAnyParam{}
		} else {
			p.ToolChoice.OfTool = &sdk.ToolChoiceToolParam{Name: name}
		}
		return p
	}
	// The API takes a part of JSON Schema only; the SDK knows which, and moves the rest into descriptions.
	schema, ok := sdk.BetaJSONSchemaOutputFormat(adapter.Object(req.Schema.JSON)).Schema.(map[string]any)
	if !ok || schema == nil {
		schema = adapter.Object(req.Schema.JSON)
	}
	p.OutputConfig.Format.Schema = schema
	return p
}

// schemaTool names the tool whose arguments are the structured answer of models from before the API offered one; "" where it is native or
// nothing structured is asked for.
func schemaTool(req model.Request) string {
	if req.Schema == nil {
		return ""
	}
	name := strings.ToLower(req.Model)
	old := false
	for _, prefix := range []string{"claude-2", "claude-3", "claude-instant", "claude-sonnet-4-0", "claude-sonnet-4-2025", "claude-opus-4-0", "claude-opus-4-2025"} {
		old = old || strings.HasPrefix(name, prefix)
	}
	if !old {
		return ""
	}
	tool := "final_answer"
	for _, t := range req.Tools {
		if t.Name == tool {
			tool += "_"
		}
	}
	return tool
}

func toolParam(name, description string, schema map[string]any) sdk.ToolUnionParam {
	tool := &sdk.ToolParam{Name: name}
	if description != "" {
		tool.Description = param.NewOpt(description)
	}
	tool.InputSchema.ExtraFields = map[string]any{}
	for key, value := range schema {
		switch key {
		case "type": // always object
		case "properties":
			tool.InputSchema.Properties = value
		default:
			tool.InputSchema.ExtraFields[key] = value
		}
	}
	return sdk.ToolUnionParam{OfTool: tool}
}

func opt[T comparable](v *T) param.Opt[T] {
	if v == nil {
		return param.Opt[T]{}
	}
	return param.NewOpt(*v)
}

// system gathers the system prompt and every system message: the API knows one place only.
func system(req model.Request) []sdk.TextBlockParam {
	var out []sdk.TextBlockParam
	if req.System != "" {
		out = append(out, sdk.TextBlockParam{Text: req.System})
	}
	for _, m := range req.Messages {
		if m.Role == chat.RoleSystem && !m.Text.IsZero() {
			out = append(out, sdk.TextBlockParam{Text: m.Text.String()})
		}
	}
	return out
}

// block is an entry of the layout that Message.Extra keeps: thinking and web searches as they came, or a reference to a stretch of the message's text (its
// length in bytes) or to one of its calls.
type block struct {
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
	Text      int    `json:"text,omitempty"`
	Call      *int   `json:"call,omitempty"`
	// Used and Found are blocks of a web search by the API, as they came.
	Used  json.RawMessage `json:"used,omitempty"`
	Found json.RawMessage `json:"found,omitempty"`
	// List tells that the stretch is our list of sources, which the model did not write.
	List bool `json:"list,omitempty"`
}

// extra is the form of Message.Extra by which this adapter knows its own.
type extra struct {
	Anthropic []block `json:"anthropic"`
}

// layoutOf gives the order of a message's blocks: the kept one where it still fits the message, else text and then calls.
func layoutOf(m chat.Message) []block {
	var kept extra
	if len(m.Extra) > 0 && json.Unmarshal(m.Extra, &kept) == nil && kept.fits(m) {
		return kept.Anthropic
	}
	var out []block
	if !m.Text.IsZero() {
		out = append(out, block{Text: int(m.Text.Len())})
	}
	for i := range m.ToolCalls {
		out = append(out, block{Call: &i})
	}
	return out
}

// fits checks that every stretch of text and every call is there once, in order.
func (e extra) fits(m chat.Message) bool {
	text, calls := 0, 0
	for _, b := range e.Anthropic {
		if b.Text < 0 {
			return false
		}
		text += b.Text
		if b.Call != nil {
			if *b.Call != calls {
				return false
			}
			calls++
		}
	}
	return len(e.Anthropic) > 0 && text == int(m.Text.Len()) && calls == len(m.ToolCalls)
}
