package modeltest

import (
	"encoding/json"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// googleWire implements Gemini's generateContent, streamed.
type googleWire struct{}

type googlePart struct {
	Text             string `json:"text"`
	Thought          bool   `json:"thought"`
	ThoughtSignature string `json:"thoughtSignature"`
	FunctionCall     *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

func (googleWire) decode(path string, body []byte) (Request, error) {
	type content struct {
		Role  string       `json:"role"`
		Parts []googlePart `json:"parts"`
	}
	var in struct {
		SystemInstruction content   `json:"systemInstruction"`
		Contents          []content `json:"contents"`
		Tools             []struct {
			GoogleSearch         json.RawMessage `json:"googleSearch"`
			FunctionDeclarations []struct {
				Name                 string          `json:"name"`
				Description          string          `json:"description"`
				ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
		GenerationConfig struct {
			ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	name := path[strings.LastIndex(path, "/")+1:]
	name, _, _ = strings.Cut(name, ":")
	req := Request{Model: name, Stream: true, Schema: in.GenerationConfig.ResponseJSONSchema}
	for _, p := range in.SystemInstruction.Parts {
		req.System += p.Text
	}
	for _, c := range in.Contents {
		role := chat.RoleUser
		if c.Role == "model" {
			role = chat.RoleAssistant
		}
		req.Messages = append(req.Messages, fromParts(role, c.Parts)...)
	}
	for _, t := range in.Tools {
		req.Search = req.Search || t.GoogleSearch != nil
		for _, f := range t.FunctionDeclarations {
			req.Tools = append(req.Tools, chat.ToolDef{Name: f.Name, Description: f.Description,
				Parameters: f.ParametersJSONSchema})
		}
	}
	return req, nil
}

func fromParts(role chat.Role, parts []googlePart) []chat.Message {
	var out []chat.Message
	msg := chat.Message{Role: role}
	for _, p := range parts {
		switch {
		case p.FunctionCall != nil:
			call := chat.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: p.FunctionCall.Args}
			if p.ThoughtSignature != "" {
				call.Extra = json.RawMessage(toJSON(p.ThoughtSignature))
			}
			msg.ToolCalls = append(msg.ToolCalls, call)
		case p.FunctionResponse != nil:
			var r struct {
				Output any `json:"output"`
				Error  any `json:"error"`
			}
			_ = json.Unmarshal(p.FunctionResponse.Response, &r) // the fake reads only our own form
			m := chat.Message{Role: chat.RoleTool, ToolCallID: p.FunctionResponse.ID, ToolName: p.FunctionResponse.Name}
			said, _ := r.Output.(string)
			if r.Error != nil {
				said, _ = r.Error.(string)
				m.IsError = true
			}
			m.Text = chat.NewText(said)
			out = append(out, m)
		case !p.Thought:
			msg.Text = msg.Text.AppendString(p.Text)
		}
	}
	if !msg.Text.IsZero() || msg.ToolCalls != nil || len(out) == 0 {
		out = append(out, msg)
	}
	return out
}

func (googleWire) errorBody(a Answer) string {
	return toJSON(obj{"error": obj{"code": a.Status, "message": a.Error, "status": a.Code}})
}

func (w googleWire) lateError(a Answer) string { return "data: " + w.errorBody(a) + "\r\n\r\n" }

func (googleWire) events(req Request, a Answer) []string {
	var parts []obj
	for _, p := range pieces(a.Reasoning) {
		parts = append(parts, obj{"text": p, "thought": true})
	}
	for _, p := range pieces(a.Text) {
		parts = append(parts, obj{"text": p})
	}
	for i, c := range a.ToolCalls {
		part := obj{"functionCall": obj{"id": c.ID, "name": c.Name, "args": c.Arguments}}
		if i == 0 {
			part["thoughtSignature"] = "c2ln" // "sig"
		}
		parts = append(parts, part)
	}
	finish := "STOP"
	switch a.Finish {
	case "length":
		finish = "MAX_TOKENS"
	case "content_filter":
		finish = "SAFETY"
	}
	chunk := func(v obj) string {
		v["modelVersion"] = req.Model
		return "data: " + toJSON(v) + "\r\n\r\n"
	}
	var out []string
	for _, p := range parts {
		out = append(out,
			chunk(obj{"candidates": []obj{{"index": 0, "content": obj{"role": "model", "parts": []obj{p}}}}}))
	}
	last := obj{"candidates": []obj{{"index": 0, "content": obj{"role": "model", "parts": []obj{{"text": ""}}},
		"finishReason": finish}}}
	if a.Sources != nil {
		var pages []obj
		for _, s := range a.Sources {
			pages = append(pages, obj{"web": obj{"title": s.Title, "uri": s.URL}})
		}
		last["candidates"].([]obj)[0]["groundingMetadata"] = obj{"webSearchQueries": []string{a.SearchQuery},
			"groundingChunks": pages}
	}
	if !a.NoUsage {
		u := a.Usage
		last["usageMetadata"] = obj{
			"promptTokenCount": u.InputTokens, "candidatesTokenCount": u.OutputTokens - u.ReasoningTokens,
			"thoughtsTokenCount": u.ReasoningTokens, "cachedContentTokenCount": u.CachedTokens,
		}
	}
	return append(out, chunk(last))
}

func (googleWire) whole(Request, Answer) string { return "{}" }
