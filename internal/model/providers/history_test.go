package providers_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
)

// fakeServer is a transport that answers every request with the same bytes and keeps the last
// request.
type fakeServer struct {
	reply []byte
	sent  []byte
}

// RoundTrip implements http.RoundTripper.
func (s *fakeServer) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.sent = sent
	kind := "text/event-stream"
	if strings.HasPrefix(string(s.reply), "{") {
		kind = "application/json"
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(strings.NewReader(string(s.reply))), Request: req}, nil
}

// TestHistory checks, for each exchange in testdata/history, what is sent back to the server with
// the result of a tool, and what is sent to others, which take over after a fallback or a hand-off.
// The reply passes through the journal's form in between.
func TestHistory(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/history/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no exchanges", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sections := map[string][]byte{}
			for _, f := range a.Files {
				sections[f.Name] = f.Data
			}
			server := strings.TrimSpace(string(sections["server"]))
			req := model.Request{
				Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hi")}},
				Tools: []chat.ToolDef{{Name: "read_file",
					Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}},
				Memo: new(model.Memo),
			}
			reply, _ := exchange(t, server, sections["reply"], req)
			stored, err := json.Marshal(reply.Message)
			if err != nil {
				t.Fatal(err)
			}
			var m chat.Message
			if err := json.Unmarshal(stored, &m); err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, m)
			for _, c := range m.ToolCalls {
				req.Messages = append(req.Messages,
					chat.Message{Role: chat.RoleTool, ToolCallID: c.ID, ToolName: c.Name, Text: chat.NewText("17")})
			}
			for _, f := range a.Files {
				to, isOther := strings.CutPrefix(f.Name, "other ")
				if f.Name == "sent" {
					to = server
				} else if !isOther {
					continue
				}
				// the memo is that of the calls before: nothing of them may be in this request
				_, sent := exchange(t, to, sections["reply"], req)
				if d := cmp.Diff(assistant(t, sent), decoded(t, f.Data)); d != "" {
					t.Errorf("to %s: -got +want\n%s", to, d)
				}
				ids := regexp.MustCompile(`"id":("[^"]*"),"(?:function|input|name)`)
				for _, id := range ids.FindAllSubmatch(f.Data, -1) {
					if n := bytes.Count(sent, id[1]); n != 2 {
						t.Errorf("to %s: the id %s occurs %d times; want a call and a result\n%s", to, id[1], n, sent)
					}
				}
			}
		})
	}
}

// exchange makes a call to a server, named by its protocol, address and model. It returns the reply
// and the body of the request.
func exchange(t *testing.T, server string, reply []byte, req model.Request) (model.Reply, []byte) {
	t.Helper()
	parts := strings.Fields(server)
	if len(parts) != 3 {
		t.Fatalf("want protocol, address and model: %q", server)
	}
	own := map[string]string{"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com",
		"google": "https://generativelanguage.googleapis.com"}
	fake := &fakeServer{reply: reply}
	factory := providers.AdaptersWith(func(model.Endpoint) *http.Client { return &http.Client{Transport: fake} })
	client, err := factory[model.Protocol(parts[0])](model.Endpoint{Protocol: model.Protocol(parts[0]),
		BaseURL: parts[1], Key: "k", Own: own[parts[0]] == parts[1]})
	if err != nil {
		t.Fatal(err)
	}
	req.Model = parts[2]
	got, err := client.Call(t.Context(), req, nil)
	if err != nil && len(req.Messages) == 1 { // a reply of another protocol does not matter
		t.Fatal(err)
	}
	return got, fake.sent
}

// assistant returns the assistant's message in the body of a request.
func assistant(t *testing.T, body []byte) any {
	t.Helper()
	var in struct {
		Messages []map[string]any `json:"messages"`
		Contents []map[string]any `json:"contents"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var found any
	for _, m := range append(in.Messages, in.Contents...) {
		if role := m["role"]; role == "assistant" || role == "model" {
			found = m
		}
	}
	return found
}

func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
