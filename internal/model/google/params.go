package google

import (
	"encoding/json"
	"math"
	"strings"

	"google.golang.org/genai"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// emptyText replaces an empty part that the API would reject: a workflow may well start without
// input.
const emptyText = "(empty)"

// config builds the request except the conversation, which contents represents.
func config(req model.Request, contents any) *genai.GenerateContentConfig {
	p := req.Params
	cfg := &genai.GenerateContentConfig{
		Temperature:       float(p.Temperature),
		TopP:              float(p.TopP),
		PresencePenalty:   float(p.PresencePenalty),
		FrequencyPenalty:  float(p.FrequencyPenalty),
		StopSequences:     p.Stop,
		SystemInstruction: system(req),
		ThinkingConfig:    thinking(p),
		HTTPOptions:       &genai.HTTPOptions{},
	}
	if p.MaxTokens != nil {
		cfg.MaxOutputTokens = int32(min(*p.MaxTokens, math.MaxInt32))
	}
	if req.IdempotencyKey != "" {
		cfg.HTTPOptions.Headers = map[string][]string{"Idempotency-Key": {req.IdempotencyKey}}
	}
	cfg.HTTPOptions.ExtrasRequestProvider = func(body map[string]any) map[string]any {
		body["contents"] = contents
		for path, value := range p.ProviderOptions {
			setPath(body, strings.Split(path, "."), value)
		}
		return body
	}
	var functions []*genai.FunctionDeclaration
	for _, tool := range req.Tools {
		f := &genai.FunctionDeclaration{Name: tool.Name, Description: tool.Description}
		if len(tool.Parameters) > 0 {
			f.ParametersJsonSchema = adapter.ToolSchema(tool.Parameters)
		}
		functions = append(functions, f)
	}
	if req.Schema != nil {
		if name := schemaTool(req); name != "" {
			functions = append(functions, &genai.FunctionDeclaration{
				Name: name, Description: "Gives the final answer. Call it exactly once, when the answer is complete.",
				ParametersJsonSchema: adapter.ToolSchema(req.Schema.JSON),
			})
			cfg.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{
				Mode: genai.FunctionCallingConfigModeAny,
			}}
		} else {
			cfg.ResponseMIMEType = "application/json"
			cfg.ResponseJsonSchema = adapter.Object(req.Schema.JSON)
		}
	}
	if functions != nil {
		cfg.Tools = []*genai.Tool{{FunctionDeclarations: functions}}
	}
	if req.Search {
		cfg.Tools = append(cfg.Tools, &genai.Tool{GoogleSearch: &genai.GoogleSearch{}})
	}
	return cfg
}

// schemaTool returns the name of the function whose arguments are the structured reply: models
// before Gemini 3 reject a response schema along with functions. It returns "" if that is not
// needed.
func schemaTool(req model.Request) string {
	name := strings.TrimPrefix(strings.ToLower(req.Model), "models/")
	if req.Schema == nil || len(req.Tools) == 0 ||
		(!strings.HasPrefix(name, "gemini-1") && !strings.HasPrefix(name, "gemini-2")) {
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

func thinking(p model.Params) *genai.ThinkingConfig {
	if p.ThinkingBudget == nil && p.ReasoningEffort == "" {
		return nil
	}
	t := &genai.ThinkingConfig{IncludeThoughts: true,
		ThinkingLevel: genai.ThinkingLevel(strings.ToUpper(p.ReasoningEffort))}
	if p.ThinkingBudget != nil {
		budget := int32(max(min(*p.ThinkingBudget, math.MaxInt32), -1))
		t.ThinkingBudget, t.IncludeThoughts = &budget, budget != 0
	}
	return t
}

func float(v *float64) *float32 {
	if v == nil {
		return nil
	}
	f := float32(*v)
	return &f
}

// system collects the system prompt and all system messages: the API has only one field for them.
func system(req model.Request) *genai.Content {
	var parts []*genai.Part
	if req.System != "" {
		parts = append(parts, &genai.Part{Text: req.System})
	}
	for _, m := range req.Messages {
		if m.Role == chat.RoleSystem && !m.Text.IsZero() {
			parts = append(parts, &genai.Part{Text: m.Text.String()})
		}
	}
	if parts == nil {
		return nil
	}
	return &genai.Content{Parts: parts}
}

// extra is the form of Message.Extra and ToolCall.Extra by which this adapter recognizes its own
// data.
type extra struct {
	Google struct {
		Signature []byte `json:"signature"`
	} `json:"google"`
}

func extraOf(signature []byte) json.RawMessage {
	if len(signature) == 0 {
		return nil
	}
	var e extra
	e.Google.Signature = signature
	raw, err := json.Marshal(e)
	if err != nil {
		return nil // bytes always encode
	}
	return raw
}

func signatureOf(raw json.RawMessage) []byte {
	var e extra
	if len(raw) == 0 || json.Unmarshal(raw, &e) != nil {
		return nil
	}
	return e.Google.Signature
}

// setPath sets value in a tree of objects, creating missing ones.
func setPath(in map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		next, ok := in[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			in[name] = next
		}
		in = next
	}
	in[path[len(path)-1]] = value
}
