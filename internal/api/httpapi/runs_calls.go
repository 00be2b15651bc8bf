package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// registerRunCalls registers the operations that show the requests sent to models.
func (a *API) registerRunCalls() {
	add(a, route{
		Method: http.MethodGet, Path: "/runs/{id}/calls/{call}", ID: "getCall", Tag: tagRuns, Role: access.RoleRun,
		Errors:  []int{http.StatusNotFound},
		Summary: "Show the request of a model call",
		Description: "Messages, tools and parameters as they were sent, worked out from the journal; the adapter of " +
			"a provider gives them the form of that provider. `call` is the name of a call in the events " +
			"`model.called`. " +
			"The tools of toolsets are known once the first call of an agent has ended. A request of a draft or a " +
			"former version needs the role edit.",
	}, getCall)
}

// CallRequest is a request that was sent to a model.
type CallRequest struct {
	Call       string          `json:"call"`
	Attempt    int             `json:"attempt"`
	Step       int             `json:"step" doc:"Number of the step in the run"`
	Node       string          `json:"node"`
	Agent      string          `json:"agent" doc:"Name of the agent"`
	At         time.Time       `json:"at"`
	Ended      bool            `json:"ended" doc:"Whether the model has answered or failed"`
	Compaction bool            `json:"compaction,omitempty" doc:"The call summarizes part of the conversation"`
	Model      string          `json:"model" doc:"Reference of the model"`
	Messages   []CallMessage   `json:"messages" doc:"Conversation, oldest first; a system prompt is the first message"`
	Tools      []chat.ToolDef  `json:"tools" doc:"Tools that the model was offered"`
	Schema     *CallSchema     `json:"schema,omitempty" doc:"Shape that the reply was to have"`
	Parameters CallParameters  `json:"parameters"`
	Provider   json.RawMessage `json:"provider,omitempty" doc:"Options that are passed to the provider unchanged"`
}

// CallMessage is a message of a CallRequest.
type CallMessage struct {
	Role       string          `json:"role" enum:"system,user,assistant,tool"`
	Name       string          `json:"name,omitempty" doc:"The agent that spoke, where several share a conversation"`
	Text       string          `json:"text"`
	Bytes      int64           `json:"bytes" doc:"Size of the whole text in bytes; more than text has where it was cut"`
	ToolCalls  []chat.ToolCall `json:"toolCalls,omitempty" doc:"Calls that the model asked for"`
	ToolCallID string          `json:"toolCallId,omitempty" doc:"The call whose result this is"`
	ToolName   string          `json:"toolName,omitempty"`
	IsError    bool            `json:"isError,omitempty" doc:"The text tells a failure of the call"`
}

// CallSchema is the schema of a structured reply.
type CallSchema struct {
	Name   string          `json:"name,omitempty"`
	Strict bool            `json:"strict,omitempty"`
	JSON   json.RawMessage `json:"json" doc:"JSON Schema"`
}

// CallParameters are the parameters of a call; absent ones were left to the provider.
type CallParameters struct {
	Temperature      *float64 `json:"temperature,omitempty"`
	TopP             *float64 `json:"topP,omitempty"`
	FrequencyPenalty *float64 `json:"frequencyPenalty,omitempty"`
	PresencePenalty  *float64 `json:"presencePenalty,omitempty"`
	MaxTokens        *int64   `json:"maxTokens,omitempty" doc:"What the agent may say, or what a budget left"`
	ReasoningEffort  string   `json:"reasoningEffort,omitempty"`
	ThinkingBudget   *int64   `json:"thinkingBudget,omitempty"`
	Stop             []string `json:"stop,omitempty"`
}

type callInput struct {
	RunPath
	Call    string `path:"call" maxLength:"200" doc:"Name of the call in the run"`
	Attempt int    `query:"attempt" minimum:"1" doc:"Number of the attempt; the last one if not given"`
	Short   int64  `query:"short" minimum:"0" default:"32768" doc:"Truncate message texts to this many bytes; 0: never"`
}

type callAnswer struct{ Body CallRequest }

func getCall(ctx context.Context, c *transport.Caller, in *callInput) (*callAnswer, error) {
	if _, err := runDefinition(ctx, c, in.ID); err != nil {
		return nil, err
	}
	sent, err := c.Service.SentCall(ctx, in.ID, in.Call, in.Attempt)
	if errors.Is(err, service.ErrNoCall) {
		id := in.Call
		if in.Attempt > 0 {
			id += ", attempt " + strconv.Itoa(in.Attempt)
		}
		return nil, notFoundInRun(in.ID, "model call", id)
	}
	if err != nil {
		return nil, err
	}
	return &callAnswer{requestOf(&sent, in.Call, in.Short)}, nil
}

// requestOf converts a request to the form that the API shows. Strings are truncated to short
// bytes; 0 means they are complete.
func requestOf(s *service.Sent, call string, short int64) CallRequest {
	req, cmd := &s.Request, s.Command
	out := CallRequest{
		Call: call, Attempt: cmd.Attempt, Step: cmd.Step, Node: cmd.Node, Agent: req.Agent, At: s.At, Ended: s.Ended,
		Compaction: cmd.Compaction, Model: req.Model,
		Messages: []CallMessage{}, Tools: append([]chat.ToolDef{}, req.Tools...), Parameters: parametersOf(req.Params),
	}
	if req.System != "" {
		out.Messages = append(out.Messages,
			messageOf(chat.Message{Role: chat.RoleSystem, Text: chat.NewText(req.System)}, short))
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, messageOf(m, short))
	}
	if x := req.Schema; x != nil {
		out.Schema = &CallSchema{Name: x.Name, Strict: x.Strict, JSON: x.JSON}
	}
	if o := req.Params.ProviderOptions; len(o) > 0 {
		out.Provider, _ = json.Marshal(o) //nolint:errchkjson // values of a document are JSON
	}
	return out
}

func messageOf(m chat.Message, short int64) CallMessage {
	out := CallMessage{Role: string(m.Role), Name: m.Name, Bytes: m.Text.Len(), ToolCalls: m.ToolCalls,
		ToolCallID: m.ToolCallID, ToolName: m.ToolName, IsError: m.IsError}
	if out.Text = m.Text.String(); short > 0 && out.Bytes > short {
		out.Text = strings.ToValidUTF8(m.Text.Head(int(short)), "") // a character may have been cut in half
	}
	return out
}

func parametersOf(p model.Params) CallParameters {
	return CallParameters{
		Temperature: p.Temperature, TopP: p.TopP, FrequencyPenalty: p.FrequencyPenalty,
		PresencePenalty: p.PresencePenalty,
		MaxTokens:       p.MaxTokens, ReasoningEffort: p.ReasoningEffort, ThinkingBudget: p.ThinkingBudget,
		Stop: p.Stop,
	}
}
