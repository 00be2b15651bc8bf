package scripts_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model/modeltest"
)

// canaries are the secrets of secrets.txtar (a server's variable, a server's header, and the key of
// the model provider) and of secretsweb.txtar (HTTP calls, searches, a shell, a URL, a collector).
var canaries = []string{
	"ca/nary+tool-7f3a9b1c", "canary-header-5e8d2f40", "canary-model-c41b77aa",
	"canary-api-11aa22bb", "canary-search-33cc44dd", "canary-shell-55ee66ff", "canary-user-90ab12cd",
	"canary-otel-77aa88bb",
}

// newLeakyModel returns a model that replies with the key that it received: in its text, in the
// error of a failure, in the error of a retryable failure, and in a tool call.
func newLeakyModel() func(modeltest.Request) modeltest.Answer {
	var busy atomic.Int64 // scripts share the server, so its counter depends on their order
	return func(r modeltest.Request) modeltest.Answer {
		return leakyReply(r, func() bool { return busy.Add(1)%2 == 1 })
	}
}

// leakyReply returns one reply; busy reports whether a busy model fails this time.
func leakyReply(r modeltest.Request, busy func() bool) modeltest.Answer {
	told := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	last := r.LastText()
	switch {
	case r.Model == "busy" && busy():
		return modeltest.Answer{Status: 429, Code: "rate_limit", Error: "slow down, owner of " + told}
	case r.Model == "angry":
		return modeltest.Answer{Status: 401, Code: "auth", Error: "the key " + told + " is bad, in base64 " +
			base64.StdEncoding.EncodeToString([]byte("user:"+told))}
	case r.Model == "caller" && !strings.Contains(last, " "): // the name of a tool, not a result
		name := map[string]string{"user_prompt": "message", "web_search": "query", "shell": "cmd"}[last]
		text := told
		if last == "shell" {
			text = `echo "heard $LEAK"; echo "$LEAK" | base64; echo "$LEAK" >&2`
		}
		args, err := json.Marshal(map[string]string{cmp.Or(name, "text"): text})
		if err != nil {
			return modeltest.Answer{Status: 500, Error: err.Error()}
		}
		return modeltest.Answer{ToolCalls: []chat.ToolCall{{Name: last, Arguments: args}}}
	}
	return modeltest.Answer{Text: "you have the key " + told + " and said: " + last, Reasoning: "it is " + told}
}

// leakyServer returns an MCP server whose tools say, fail and break return the secret that it
// received.
func leakyServer(secret func(*sdk.CallToolRequest) string, description string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "gossip", Version: "1"},
		&sdk.ServerOptions{Instructions: "instructions " + description})
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	add := func(name string, f func(text string) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "knows " + description, InputSchema: schema},
			func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				told := secret(req)
				return f(fmt.Sprintf("heard %s, %q, %s", told, told,
					base64.URLEncoding.EncodeToString([]byte("a:"+told))))
			})
	}
	add("say", func(text string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}},
			StructuredContent: map[string]any{"told": text}}, nil
	})
	add("fail", func(text string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	})
	add("break", func(text string) (*sdk.CallToolResult, error) { return nil, fmt.Errorf("broken: %s", text) })
	return s
}

// leakyTool runs leakyServer on standard input and output, with its variable LEAK as the secret.
func leakyTool() {
	leak := os.Getenv("LEAK")
	fmt.Fprintln(os.Stderr, "started with", leak)
	if err := leakyServer(func(*sdk.CallToolRequest) string { return leak }, leak).Run(context.Background(),
		&sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// serveEcho serves endpoints that repeat what they received, in results, errors, documents, and in
// a collector's response to telemetry. It returns false if the request is for none of them.
func serveEcho(w http.ResponseWriter, r *http.Request) bool {
	told := r.Header.Get("Authorization") + r.Header.Get("X-Key") + r.Header.Get("X-Subscription-Token")
	heard := fmt.Sprintf("heard %s, %q, %s, of %s", told, told, base64.StdEncoding.EncodeToString([]byte("a:"+told)),
		r.URL)
	switch path := r.URL.Path; {
	case path == "/echo/fail":
		w.Header().Set("X-Told", told)
		http.Error(w, heard, http.StatusInternalServerError)
	case path == "/openapi.yaml":
		fmt.Fprintf(w, "openapi: 3.1.0\ninfo: {title: %q}\nservers: [{url: /}]\npaths:\n  /echo/thing:\n    get: "+
			"{operationId: readThing, summary: %q, responses: {}}\n", told, heard)
	case strings.HasPrefix(path, "/echo/"):
		fmt.Fprint(w, heard)
	case strings.HasPrefix(path, "/search/"):
		text, err := json.Marshal(heard)
		if err != nil {
			return false
		}
		fmt.Fprintf(w, `{"web":{"results":[{"title":%s,"url":"https://a.example/","description":%s}]}}`, text, text)
	case strings.HasPrefix(path, "/otlp/"): // a partial success: one entry is rejected, with a reason
		text := "for " + told
		partial := append([]byte{0x08, 1, 0x12, byte(len(text))}, text...)
		_, _ = w.Write(append([]byte{0x0a, byte(len(partial))}, partial...)) // the client may be gone
	default:
		return false
	}
	return true
}

// leakyHandler serves leakyServer with the Authorization header as the secret; under /broken it
// responds to every request with an error that contains it.
func leakyHandler() http.Handler {
	mcp := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		told := r.Header.Get("Authorization")
		return leakyServer(func(req *sdk.CallToolRequest) string { return req.Extra.Header.Get("Authorization") },
			told)
	}, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/broken") {
			http.Error(w, "who is "+r.Header.Get("Authorization")+"?", http.StatusInternalServerError)
			return
		}
		if !serveEcho(w, r) {
			mcp.ServeHTTP(w, r)
		}
	})
}

// cmdLeaks checks that no canary is in the last output, nor in any file in the script's directory
// except the named ones: leaks FILE...
func cmdLeaks(ts *testscript.TestScript, neg bool, args []string) {
	if !neg {
		ts.Fatalf("usage: ! leaks FILE...")
	}
	look := func(where, text string) {
		for _, c := range canaries {
			quoted := strings.Trim(fmt.Sprintf("%q", c), `"`)
			for _, form := range []string{c, quoted, strings.ReplaceAll(c, "/", `\/`),
				strings.ReplaceAll(c, "/", "%2F"), c[len(c)-8:]} {
				if strings.Contains(text, form) {
					ts.Fatalf("%s shows the canary %s", where, form)
				}
			}
			for shift := range 3 {
				b := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + c))
				if core := b[4 : len(b)-4]; strings.Contains(text, core) ||
					strings.Contains(text, strings.NewReplacer("+", "-", "/", "_").Replace(core)) {
					ts.Fatalf("%s shows the canary %s in base64", where, c)
				}
			}
		}
	}
	look("stdout", ts.ReadFile("stdout"))
	look("stderr", ts.ReadFile("stderr"))
	seen, keys := 0, 0
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if slices.Contains(args, d.Name()) {
			if slices.ContainsFunc(canaries, func(c string) bool { return strings.Contains(string(data), c) }) {
				keys++
			}
			return nil
		}
		seen++
		look(path, string(data))
		return nil
	}))
	if seen == 0 || keys != len(args) {
		ts.Fatalf("%d files were looked at, %d of %d hold the keys", seen, keys, len(args))
	}
}
