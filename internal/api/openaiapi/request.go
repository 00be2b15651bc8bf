package openaiapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/api/transport"
)

// request holds the fields of a request that are read. All other fields of OpenAI's are ignored:
// the workflow determines how its models are called.
type request struct {
	Model         string          `json:"model"`
	Messages      []message       `json:"messages"`
	Stream        bool            `json:"stream"`
	StreamOptions *streamOptions  `json:"stream_options"`
	N             *int            `json:"n"`
	Metadata      map[string]any  `json:"metadata"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	FunctionCall  json.RawMessage `json:"function_call"` // the former name of tool_choice
	Modalities    []string        `json:"modalities"`
	Format        *struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is a message of the conversation. Text is its content once check has read it.
type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls json.RawMessage `json:"tool_calls"`
	text      string
}

const (
	roleSystem    = "system"
	roleDeveloper = "developer"
	roleUser      = "user"
	roleAssistant = "assistant"
)

// metadataInput is the metadata key that selects what becomes the run's input.
const metadataInput = "hocket_input"

// Values of metadataInput.
const (
	inputConversation = "conversation" // all messages; the default
	inputLast         = "last"         // only the last message
)

// readRequest reads and checks a request.
func (a *api) readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	data, err := transport.ReadJSON(w, r, a.cfg.MaxBody)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err) // the shared problem table covers this error
	}
	var q request
	if err := json.Unmarshal(data, &q); err != nil {
		if field, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, invalidf(field.Field, "%s must be %s, not %s", cmp.Or(field.Field, "the request"),
				kindOf(field.Type), field.Value)
		}
		return nil, invalidf("", "the request is not valid JSON: %v", err)
	}
	return &q, q.check()
}

// kindOf describes the JSON type that a field accepts.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int:
		return "an integer"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// check rejects what cannot be honored, and reads the text of each message.
func (q *request) check() error {
	switch {
	case strings.TrimSpace(q.Model) == "":
		return invalidf("model", "missing model: the id of a published workflow")
	case len(q.Messages) == 0:
		return invalidf("messages", "no messages")
	case q.N != nil && *q.N != 1:
		return unsupportedf("n", "n must be 1: a run has one output")
	case q.Format != nil && q.Format.Type != "" && q.Format.Type != "text":
		return unsupportedf("response_format",
			"response_format must be text, not %s: the workflow defines the format of its output", q.Format.Type)
	case slices.ContainsFunc(q.Modalities, func(m string) bool { return m != "text" }):
		return unsupportedf("modalities", "modalities must be text: the output of a run is text")
	case demandsTool(q.ToolChoice):
		return unsupportedf("tool_choice",
			"tool_choice must be auto or none: a workflow calls its own tools, not the client's")
	case demandsTool(q.FunctionCall):
		return unsupportedf("function_call",
			"function_call must be auto or none: a workflow calls its own tools, not the client's")
	}
	switch in := q.Metadata[metadataInput]; in {
	case nil, inputConversation, inputLast:
	default:
		return invalidf("metadata."+metadataInput, "%s must be %s or %s", metadataInput, inputConversation, inputLast)
	}
	for i := range q.Messages {
		if err := q.Messages[i].read(fmt.Sprintf("messages[%d]", i)); err != nil {
			return err
		}
	}
	if last := q.Messages[len(q.Messages)-1]; last.Role != roleUser {
		return invalidf("messages", "the last message must have the role user, not %s: the run answers it", last.Role)
	}
	return nil
}

// demandsTool reports whether the client requires a call of one of its own tools. Clients send
// tools with every request; if tools are only offered, the client gets text.
func demandsTool(choice json.RawMessage) bool {
	if len(choice) == 0 {
		return false
	}
	var word string
	if json.Unmarshal(choice, &word) == nil {
		return word != "" && word != "auto" && word != "none"
	}
	return true
}

// read checks a message and reads its text; at is the location of the message.
func (m *message) read(at string) error {
	switch m.Role {
	case roleSystem, roleDeveloper, roleUser, roleAssistant:
	case "":
		return invalidf(at+".role", "the message has no role")
	default:
		return unsupportedf(at+".role", "unsupported role %q; known: system, developer, user, assistant", m.Role)
	}
	if calls := strings.TrimSpace(string(m.ToolCalls)); calls != "" && calls != "null" && calls != "[]" {
		return unsupportedf(at+".tool_calls", "tool calls of the client are not supported")
	}
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return nil
	}
	if json.Unmarshal(m.Content, &m.text) == nil {
		return nil
	}
	var parts []struct {
		Type    string  `json:"type"`
		Text    *string `json:"text"`
		Refusal *string `json:"refusal"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return invalidf(at+".content", "content must be a string or a list of parts")
	}
	texts := make([]string, 0, len(parts))
	for i, p := range parts {
		place := fmt.Sprintf("%s.content[%d]", at, i)
		switch {
		case p.Type == "refusal" && p.Refusal != nil && m.Role == roleAssistant:
			// an assistant message, whichever model wrote it
			p.Text = p.Refusal
		case p.Type != "text":
			return unsupportedf(place+".type", "unsupported part type %q; known: text", p.Type)
		case p.Text == nil:
			return invalidf(place+".text", "the part has no text")
		}
		texts = append(texts, *p.Text)
	}
	m.text = strings.Join(texts, "\n")
	return nil
}
