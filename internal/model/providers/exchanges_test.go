package providers_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

var update = flag.Bool("update", false, "write what the adapters make of the exchanges anew")

// TestExchanges checks what the adapters make of the answers of servers in testdata/exchanges, in
// the shapes that documentation and bug reports show. The name of a file is SERVER-TOPIC. An answer
// in it is called PROTOCOL.sse or PROTOCOL.json, with the HTTP status before the ending if it is
// not 200, and is followed by its result. In those whose topic is schema the request has one, and
// the result has the value in the reply.
func TestExchanges(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/exchanges/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no exchanges: %v", err)
	}
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var got txtar.Archive
		got.Comment = archive.Comment
		req := hello
		if strings.Contains(name, "-schema") {
			req.Schema = &model.Schema{Name: "v", JSON: json.RawMessage(schemaText)}
		}
		for _, f := range archive.Files {
			words := strings.Split(f.Name, ".")
			if words[len(words)-1] == "result" {
				continue
			}
			status := 200
			if len(words) == 3 {
				if status, err = strconv.Atoi(words[1]); err != nil {
					t.Fatalf("%s: %s has no HTTP status: %v", name, f.Name, err)
				}
			}
			contentType := map[string]string{"sse": "text/event-stream",
				"json": "application/json"}[words[len(words)-1]]
			client := adapterFor(t, words[0], status, http.Header{"Content-Type": {contentType}}, string(f.Data))
			got.Files = append(got.Files, f,
				txtar.File{Name: f.Name + ".result", Data: []byte(resultOf(t, name+": "+f.Name, client, req))})
		}
		if *update {
			if err := os.WriteFile(name, txtar.Format(&got), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if d := cmp.Diff(string(txtar.Format(&got)), string(txtar.Format(archive))); d != "" {
			t.Errorf("%s (-update rewrites it): -got +want\n%s", name, d)
		}
	}
}

// resultOf returns the result of a call, and checks that a stream shows the text of the reply.
func resultOf(t *testing.T, name string, c model.Client, req model.Request) string {
	t.Helper()
	var b, shown strings.Builder
	reply, err := c.Call(t.Context(), req, func(d model.Delta) { shown.WriteString(d.Text) })
	usage := reply.Usage
	if err != nil {
		var failed *model.Error
		if !errors.As(err, &failed) {
			t.Fatalf("%s: got %v; want a *model.Error", name, err)
		}
		fmt.Fprintf(&b, "failure %s: %s\n", failed.Kind, failed.Message)
		usage = failed.Usage
	} else {
		fmt.Fprintf(&b, "stop %s\n", reply.StopReason)
		if text := reply.Message.Text.String(); text != "" {
			fmt.Fprintf(&b, "text %q\n", text)
			if s := shown.String(); s != "" && s != text {
				t.Errorf("%s: the stream showed %q; want %q", name, s, text)
			}
		}
		if value, ok := chat.JSONIn(reply.Message.Text.String()); ok && req.Schema != nil {
			fmt.Fprintf(&b, "value %s\n", strings.Join(strings.Fields(string(value)), ""))
		}
		if reply.Reasoning != "" {
			fmt.Fprintf(&b, "thoughts %q\n", reply.Reasoning)
		}
		for _, call := range reply.Message.ToolCalls {
			fmt.Fprintf(&b, "call %s %s %s\n", call.ID, call.Name, call.Arguments)
		}
	}
	if usage == nil {
		usage = &chat.Usage{}
	}
	if *usage != (chat.Usage{}) {
		fmt.Fprintf(&b, "usage %d in, %d out, %d cached, %d written, %d thoughts\n", usage.InputTokens,
			usage.OutputTokens,
			usage.CachedTokens, usage.CacheWriteTokens, usage.ReasoningTokens)
	}
	return b.String()
}

// TestManyCalls checks that a reply with more tool calls than the limit fails in each protocol,
// however they are divided into events, and that one at the limit does not.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	const start = `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f"}}`
	for name, tc := range map[string]struct{ protocol, begin, call, between, end string }{
		"openai": {"openai", "", `data: {"choices":[{"delta":{"tool_calls":[{"id":"N","function":{"name":"f"}}]}}]}`,
			"\n\n", "\n\ndata: [DONE]\n\n"},
		"openai, one event": {"openai", `data: {"choices":[{"delta":{"tool_calls":[`,
			`{"id":"N","function":{"name":"f"}}`, ",", "]}}]}\n\ndata: [DONE]\n\n"},
		"openai, one value": {"openai", `{"choices":[{"message":{"tool_calls":[`, `{"id":"a","function":{"name":"f"}}`,
			",", "]}}]}"},
		"anthropic": {"anthropic", "", start, "\n\n", "\n\ndata: " +
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{}}` +
			"\n\ndata: {\"type\":\"message_stop\"}\n\n"},
		"google": {"google", `data: {"candidates":[{"finishReason":"STOP","content":{"parts":[`,
			`{"functionCall":{"name":"f"}}`, ",", "]}}]}\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{1000, 1001, 20_000} {
				calls := make([]string, n)
				for i := range calls {
					calls[i] = strings.ReplaceAll(tc.call, "N", strconv.Itoa(i))
				}
				body := tc.begin + strings.Join(calls, tc.between) + tc.end
				reply, err := adapterFor(t, tc.protocol, 200, nil, body).Call(t.Context(), hello, nil)
				if n <= 1000 {
					if err != nil || len(reply.Message.ToolCalls) != n {
						t.Errorf("%d calls: got %d, %v", n, len(reply.Message.ToolCalls), err)
					}
				} else if err == nil || !strings.Contains(err.Error(), "limit of 1000 tool calls") {
					t.Errorf("%d calls: got %v; want an error that names the limit", n, err)
				}
			}
		})
	}
}
