package providers_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
)

// replies are the shortest replies of each protocol.
var replies = map[string]string{
	"openai":    `{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`,
	"anthropic": `{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`,
	"google": `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}]}` +
		"\n\n",
}

// pickyServer is a transport that refuses every request with a tool called bad.
type pickyServer struct {
	protocol, refusal string
	bodies            [][]byte
}

// RoundTrip implements http.RoundTripper.
func (s *pickyServer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, body)
	status, kind, text := http.StatusOK, "application/json", replies[s.protocol]
	if bytes.Contains(body, []byte(`"bad"`)) {
		status, text = http.StatusBadRequest, s.refusal
	} else if s.protocol == "google" {
		kind = "text/event-stream"
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(strings.NewReader(text)), Request: req}, nil
}

// TestRefusedTools checks, for each refusal in testdata/tools, that the call is made again without
// the tool, that the reply says so, and that later calls do not offer it.
func TestRefusedTools(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/tools/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no refusals", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			server := strings.Fields(string(a.Files[0].Data))
			srv := &pickyServer{protocol: server[0], refusal: string(a.Files[1].Data)}
			factory := providers.AdaptersWith(func(model.Endpoint) *http.Client { return &http.Client{Transport: srv} })
			c, err := factory[model.Protocol(server[0])](model.Endpoint{BaseURL: server[1], Key: "k", Own: true})
			if err != nil {
				t.Fatal(err)
			}
			req := model.Request{Model: server[2],
				Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hi")}},
				Tools: []chat.ToolDef{{Name: "good"},
					{Name: "bad", Parameters: json.RawMessage(`{"type":"object","properties":{"x y":{}}}`)}}}
			for i, want := range []struct {
				requests int
				warns    bool
			}{{2, true}, {1, true}, {1, false}} {
				srv.bodies = nil
				reply, err := c.Call(t.Context(), req, nil)
				if err != nil || reply.Message.Text.String() != "ok" {
					t.Fatalf("call %d: %q, %v", i+1, reply.Message.Text.String(), err)
				}
				if len(srv.bodies) != want.requests || strings.Contains(reply.Warning, `"bad"`) != want.warns {
					t.Errorf("call %d: %d requests, warning %q; want %+v", i+1, len(srv.bodies), reply.Warning, want)
				}
				if last := srv.bodies[len(srv.bodies)-1]; !bytes.Contains(last, []byte(`"good"`)) {
					t.Errorf("call %d: the other tool is not offered: %s", i+1, last)
				}
				if i == 1 { // in the middle of a conversation, nothing is repeated
					req.Messages = append(req.Messages, reply.Message, req.Messages[0])
				}
			}
		})
	}
}
