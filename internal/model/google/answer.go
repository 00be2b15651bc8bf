package google

import (
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"google.golang.org/genai"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// answer accumulates the response.
type answer struct {
	// turn makes call ids unique in the conversation if the API sends none.
	turn int
	// schemaTool is the function whose arguments are the reply, "" for none.
	schemaTool      string
	text, reasoning strings.Builder
	signature       []byte
	calls           []chat.ToolCall
	counts          *genai.GenerateContentResponseUsageMetadata
	model, id       string
	finish          genai.FinishReason
	detail          string
	blocked         string
	sources         adapter.Sources
}

// add processes one chunk.
func (a *answer) add(chunk *genai.GenerateContentResponse, onDelta func(model.Delta)) {
	if chunk.ModelVersion != "" {
		a.model, a.id = chunk.ModelVersion, chunk.ResponseID
	}
	if u := chunk.UsageMetadata; u != nil {
		a.addUsage(*u)
	}
	if f := chunk.PromptFeedback; f != nil && f.BlockReason != "" {
		a.blocked = strings.TrimSpace(string(f.BlockReason) + " " + f.BlockReasonMessage)
	}
	if len(chunk.Candidates) == 0 {
		return
	}
	c := chunk.Candidates[0]
	if c.Content != nil {
		for _, p := range c.Content.Parts {
			a.addPart(p, onDelta)
		}
	}
	if g := c.GroundingMetadata; g != nil {
		for _, page := range g.GroundingChunks {
			if page != nil && page.Web != nil {
				a.sources.Add(page.Web.Title, page.Web.URI)
			}
		}
	}
	if c.FinishReason != "" && c.FinishReason != genai.FinishReasonUnspecified {
		a.finish, a.detail = c.FinishReason, c.FinishMessage
	}
}

// addUsage adds a report of usage. As with adapter.LaterUsage, a missing count keeps the earlier
// one.
func (a *answer) addUsage(u genai.GenerateContentResponseUsageMetadata) {
	if c := a.counts; c != nil {
		u.PromptTokenCount = cmp.Or(u.PromptTokenCount, c.PromptTokenCount)
		u.ToolUsePromptTokenCount = cmp.Or(u.ToolUsePromptTokenCount, c.ToolUsePromptTokenCount)
		u.CandidatesTokenCount = cmp.Or(u.CandidatesTokenCount, c.CandidatesTokenCount)
		u.CachedContentTokenCount = cmp.Or(u.CachedContentTokenCount, c.CachedContentTokenCount)
		u.ThoughtsTokenCount = cmp.Or(u.ThoughtsTokenCount, c.ThoughtsTokenCount)
	}
	a.counts = &u
}

// usage counts thoughts as output, as chat.Usage requires.
func (a *answer) usage() *chat.Usage {
	u := a.counts
	if u == nil {
		return nil
	}
	return &chat.Usage{
		InputTokens:     int64(u.PromptTokenCount) + int64(u.ToolUsePromptTokenCount),
		OutputTokens:    int64(u.CandidatesTokenCount) + int64(u.ThoughtsTokenCount),
		CachedTokens:    int64(u.CachedContentTokenCount),
		ReasoningTokens: int64(u.ThoughtsTokenCount),
	}
}

// cite appends the list of cited sources to the text.
func (a *answer) cite(onDelta func(model.Delta)) {
	if text := a.sources.Text(); text != "" {
		a.text.WriteString(text)
		onDelta(model.Delta{Text: text})
	}
}

func (a *answer) addPart(p *genai.Part, onDelta func(model.Delta)) {
	switch {
	case p == nil:
	case p.FunctionCall != nil:
		a.addCall(p, onDelta)
	case p.Thought:
		a.reasoning.WriteString(p.Text)
		onDelta(model.Delta{Reasoning: p.Text})
	default:
		if len(p.ThoughtSignature) > 0 {
			a.signature = p.ThoughtSignature
		}
		a.text.WriteString(p.Text)
		onDelta(model.Delta{Text: p.Text})
	}
}

// addCall processes a call, which this API always sends whole.
func (a *answer) addCall(p *genai.Part, onDelta func(model.Delta)) {
	args := json.RawMessage("{}")
	if len(p.FunctionCall.Args) > 0 {
		if raw, err := json.Marshal(p.FunctionCall.Args); err == nil { // it was decoded from JSON
			args = raw
		}
	}
	if a.schemaTool != "" && p.FunctionCall.Name == a.schemaTool {
		a.text.Reset()
		a.text.Write(args)
		onDelta(model.Delta{Text: string(args)})
		return
	}
	i := len(a.calls)
	if adapter.CheckCalls(i) != nil {
		return
	}
	call := chat.ToolCall{ID: adapter.UniqueID(a.calls, p.FunctionCall.ID, a.turn), Name: p.FunctionCall.Name,
		Arguments: args, Extra: extraOf(p.ThoughtSignature)}
	a.calls = append(a.calls, call)
	onDelta(
		model.Delta{ToolCall: &model.ToolCallDelta{Index: i, ID: call.ID, Name: call.Name, Arguments: string(args)}})
}

// problem returns the reason why a is not a Reply, or nil if it is one.
func (a *answer) problem() error {
	if err := adapter.CheckCalls(len(a.calls)); err != nil {
		return err
	}
	if a.blocked != "" {
		return adapter.Filtered(a.blocked)
	}
	switch a.finish {
	case "":
		return adapter.UnexpectedEnd()
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent,
		genai.FinishReasonSPII, genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent,
		genai.FinishReasonImageRecitation:
		return adapter.Filtered(strings.TrimSpace(string(a.finish) + " " + a.detail))
	case genai.FinishReasonStop, genai.FinishReasonMaxTokens, genai.FinishReasonContinuation:
		return nil
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall,
		genai.FinishReasonTooManyToolCalls, genai.FinishReasonLanguage, genai.FinishReasonOther,
		genai.FinishReasonNoImage, genai.FinishReasonImageOther:
	default:
		// A server in Google's place may end with a word of its own, such as FUNCTION_CALL. Each
		// call arrives whole; a text might be cut off.
		if len(a.calls) > 0 {
			return nil
		}
	}
	return &model.Error{Kind: model.KindServer,
		Message: strings.TrimSpace("the model stopped without an answer: " + string(a.finish) + " " + a.detail)}
}

// finalUsage returns the usage of a response that is complete or was withheld; earlier chunks are
// cumulative.
func (a *answer) finalUsage() *chat.Usage {
	if a.finish == "" && a.blocked == "" {
		return nil
	}
	return a.usage()
}

func (a *answer) reply() model.Reply {
	r := model.Reply{
		Message:    chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(a.text.String()), ToolCalls: a.calls},
		Reasoning:  a.reasoning.String(),
		Usage:      a.usage(),
		StopReason: model.StopEnd,
		Model:      a.model,
		ID:         a.id,
	}
	if !r.Message.Text.IsZero() {
		r.Message.Extra = extraOf(a.signature)
	}
	switch {
	case a.finish == genai.FinishReasonMaxTokens || a.finish == genai.FinishReasonContinuation:
		r.StopReason = model.StopLength
	case len(a.calls) > 0:
		r.StopReason = model.StopToolCalls
	}
	return r
}

// Expected describes the responses that this adapter expects.
func Expected() adapter.Answers {
	return adapter.Answers{
		Types: []reflect.Type{reflect.TypeFor[genai.GenerateContentResponse]()},
		Words: map[string][]string{"candidates.finishReason": {
			"STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "LANGUAGE", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT",
			"SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY",
			"IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
		}},
		Texts: []string{"candidates.content.parts.text"}, Usage: "usageMetadata",
	}
}
