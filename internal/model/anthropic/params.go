package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// defaultMaxTokens is sent if the caller sets no limit, because the API requires one. A thinking
// budget is added to it.
const defaultMaxTokens = 16384

// maxSearches is the maximum number of web searches per reply, well below the number at which the
// API pauses a turn.
const maxSearches = 5

// emptyText replaces an empty string that the API would reject: a workflow may well start without
// input.
const emptyText = "(empty)"

// params builds the request body except its messages. The penalties have no counterpart here. from
// is the server.
func params(req model.Request, from string) sdk.MessageNewParams {
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
			p.MaxTokens += *budget
			if lacksThinking(req.Messages, from) {
				break
			}
			p.Thinking.OfEnabled = &sdk.ThinkingConfigEnabledParam{BudgetTokens: *budget}
		}
	}
	if req.Params.MaxTokens != nil {
		p.MaxTokens = *req.Params.MaxTokens
	}
	p.OutputConfig.Effort = sdk.OutputConfigEffort(req.Params.ReasoningEffort)
	for _, tool := range req.Tools {
		p.Tools = append(p.Tools, toolParam(tool.Name, tool.Description, adapter.ToolSchema(tool.Parameters)))
	}
	if req.Search {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfWebSearchTool20250305: &sdk.WebSearchTool20250305Param{
			MaxUses: param.NewOpt[int64](maxSearches),
		}})
	}
	if req.Schema == nil {
		return p
	}
	if name := schemaTool(req); name != "" {
		p.Tools = append(p.Tools,
			toolParam(name, "Gives the final answer. Call it exactly once, when the answer is complete.",
				adapter.ToolSchema(req.Schema.JSON)))
		if len(req.Tools) > 0 {
			p.ToolChoice.OfAny = &sdk.ToolChoiceAnyParam{}
		} else {
			p.ToolChoice.OfTool = &sdk.ToolChoiceToolParam{Name: name}
		}
		return p
	}
	// The API supports only a subset of JSON Schema; the SDK knows it, and moves the rest into
	// descriptions.
	schema, ok := sdk.BetaJSONSchemaOutputFormat(adapter.Object(req.Schema.JSON)).Schema.(map[string]any)
	if !ok || schema == nil {
		schema = adapter.Object(req.Schema.JSON)
	}
	p.OutputConfig.Format.Schema = schema
	return p
}

// schemaTool returns the name of the tool whose arguments are the structured reply, for models that
// lack structured output; "" if it is native or not requested.
func schemaTool(req model.Request) string {
	if req.Schema == nil {
		return ""
	}
	name := strings.ToLower(req.Model)
	old := false
	for _, prefix := range []string{"claude-2", "claude-3", "claude-instant", "claude-sonnet-4-0",
		"claude-sonnet-4-2025", "claude-opus-4-0", "claude-opus-4-2025"} {
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

// system collects the system prompt and all system messages: the API has only one field for them.
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

// block is an entry of the layout that Message.Extra keeps: thinking and web searches as received,
// or a reference to a section of the message's text (its length in bytes) or to one of its calls.
type block struct {
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
	Text      int    `json:"text,omitempty"`
	Call      *int   `json:"call,omitempty"`
	// Used and Found are blocks of a web search performed by the API, as received.
	Used  json.RawMessage `json:"used,omitempty"`
	Found json.RawMessage `json:"found,omitempty"`
	// List reports whether the section is our list of sources, which the model did not write.
	List bool `json:"list,omitempty"`
}

// extra is the form of Message.Extra by which this adapter recognizes its own data.
type extra struct {
	// From is the server; "" means any, as in older journals.
	From      string  `json:"from,omitempty"`
	Anthropic []block `json:"anthropic"`
}

// isThinking reports whether b is visible thinking. Compatible servers may send it unsigned.
func (b block) isThinking() bool { return b.Signature != "" || b.Thinking != "" }

// lacksThinking reports whether the last reply calls tools, has results, and has no thinking that
// the server would accept: it is another model's. The API then rejects a thinking budget.
func lacksThinking(messages []chat.Message, from string) bool {
	i := len(messages) - 1
	for i >= 0 && messages[i].Role == chat.RoleTool {
		i--
	}
	if i < 0 || i == len(messages)-1 || messages[i].Role != chat.RoleAssistant {
		return false
	}
	return !slices.ContainsFunc(layoutOf(messages[i], from),
		func(b block) bool { return b.isThinking() || b.Redacted != "" })
}

// layoutOf returns the order of a message's blocks: the kept one if it still fits the message,
// otherwise text followed by calls.
func layoutOf(m chat.Message, from string) []block {
	var kept extra
	if len(m.Extra) > 0 && json.Unmarshal(m.Extra, &kept) == nil && (kept.From == "" || kept.From == from) &&
		kept.fits(m) {
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

// fits reports whether every section of text and every call occurs once, in order.
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
