package providers_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/workflow"
)

// strictServer answers every request that has a path in its JSON with a recorded refusal, and keeps
// all requests.
type strictServer struct {
	refusal
	answers http.Handler

	mu   sync.Mutex
	seen []map[string]any
}

// ServeHTTP implements http.Handler.
func (s *strictServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	s.mu.Lock()
	s.seen = append(s.seen, body)
	s.mu.Unlock()
	if _, ok := at(body, s.want["refuses"]); ok {
		w.Header().Set("Content-Type", s.header.Get("Content-Type"))
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.body)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	s.answers.ServeHTTP(w, r)
}

// at returns the value at a dotted path of an object.
func at(v any, path string) (any, bool) {
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		inner, ok := m[name]
		if !ok {
			return nil, false
		}
		v = inner
	}
	return v, true
}

const schemaText = `{"type":"object","properties":{"score":{"type":"integer"}},"required":["score"]}`

// everything is a request with every parameter.
func everything(name string) model.Request {
	return model.Request{
		Model: name, System: "sys", IdempotencyKey: "k",
		Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hi")}},
		Schema:   &model.Schema{Name: "v", JSON: json.RawMessage(schemaText)},
		Params: model.Params{
			Temperature: new(0.0), TopP: new(0.5), FrequencyPenalty: new(0.1), PresencePenalty: new(0.1),
			MaxTokens: new(int64(100)), ReasoningEffort: "low", ThinkingBudget: new(int64(-1)), Stop: []string{"END"},
			ProviderOptions: map[string]json.RawMessage{"parallel_tool_calls": json.RawMessage("false")},
		},
	}
}

// strict returns a server that refuses as recorded, and a client of it.
func strict(t *testing.T, x refusal) (*strictServer, model.Client) {
	t.Helper()
	s := &strictServer{refusal: x, answers: modeltest.New(func(r modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: `{"score":3}`, Fault: wholeUnless(r.Stream)}
	})}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, clientOf(t, x.want["protocol"], srv.URL)
}

func wholeUnless(stream bool) modeltest.Fault {
	if stream {
		return ""
	}
	return modeltest.FaultWhole
}

// TestParameters checks that a parameter that a server refuses is left out, that the call
// is made again once, and that later calls to the model do without both.
func TestParameters(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, x := range refusals(t, "parameter") {
		name := x.want["omitted"]
		names[name] = true
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s, client := strict(t, x)
			for i, want := range []int{2, 3, 5} { // the third is a call to another model
				reply, err := client.Call(t.Context(), everything([]string{"m", "m", "other"}[i]), nil)
				if err != nil {
					t.Fatalf("call %d: %v", i, err)
				}
				if got := strings.Contains(reply.Warning, name); got != (i != 1) {
					t.Errorf("call %d: got warning %q", i, reply.Warning)
				}
				if reply.Message.Text.String() != `{"score":3}` || len(s.seen) != want {
					t.Errorf("call %d: got reply %q after %d requests; want %d", i, reply.Message.Text, len(s.seen),
						want)
				}
			}
			again, _ := json.Marshal(s.seen[1])
			if name == "response_format" && !strings.Contains(string(again), `\"score\"`) {
				t.Errorf("got %s; want the schema in the prompt", again)
			}
			if name == "max_tokens" && s.seen[1]["max_completion_tokens"] != 100.0 {
				t.Errorf("got %s; want the limit under its other name", again)
			}
		})
	}
	for _, name := range workflow.OmitParameters() {
		if !names[name] && name != "max_completion_tokens" { // the address decides between the two
			t.Errorf("no refusal names %s", name)
		}
	}
}

// TestOmit checks that parameters that a provider omits are never sent, in each protocol.
func TestOmit(t *testing.T) {
	t.Parallel()
	left := map[string]string{
		"openai": "max_completion_tokens,messages,model", "anthropic": "max_tokens,messages,model,stream,system",
		"google": "contents,generationConfig,systemInstruction",
	}
	for protocol, want := range left {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s, client := strict(t, refusal{want: map[string]string{"protocol": protocol, "refuses": "none"}})
			req := everything("m")
			req.Omit = slices.DeleteFunc(workflow.OmitParameters(),
				func(name string) bool { return name == "max_completion_tokens" })
			reply, err := client.Call(t.Context(), req, nil)
			if err != nil || reply.Warning != "" {
				t.Fatalf("got %v and warning %q", err, reply.Warning)
			}
			var got []string
			for name := range s.seen[0] {
				got = append(got, name)
			}
			slices.Sort(got)
			if strings.Join(got, ",") != want {
				t.Errorf("got %v; want %s", got, want)
			}
			if c, _ := s.seen[0]["generationConfig"].(map[string]any); protocol == "google" && len(c) != 1 {
				t.Errorf("got %v; want maxOutputTokens alone", c)
			}
		})
	}
}

// TestParameters_RefusedTwice checks that a call is not made again if leaving the parameter out
// does not help, and that nothing is remembered then.
func TestParameters_RefusedTwice(t *testing.T) {
	t.Parallel()
	for _, x := range refusals(t, "parameter") {
		if x.name != "openai-parameter-temperature" {
			continue
		}
		x.want["refuses"] = "messages"
		s, client := strict(t, x)
		for want := 2; want <= 4; want += 2 {
			if _, err := client.Call(t.Context(), everything("m"), nil); err == nil || len(s.seen) != want {
				t.Errorf("got %v after %d requests; want an error after %d", err, len(s.seen), want)
			}
		}
	}
}
