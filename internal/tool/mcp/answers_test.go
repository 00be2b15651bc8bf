//go:build unix

package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/mcp"
)

// The variables of a server in the mode "odd".
const (
	oddAt     = "HOCKET_TEST_ODD_AT"     // before which message oddLines is written: "" for the first, or a method
	oddLines  = "HOCKET_TEST_ODD_LINES"  // what is written; HUGE stands for 17 MiB of x
	oddAnswer = "HOCKET_TEST_ODD_ANSWER" // the answer to the first call; ID and HUGE are replaced
)

const calledAnswer = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"called"}]}}`

// oddReply returns the answer to a request, in which answer is the one to a call.
func oddReply(id json.RawMessage, method, answer string) string {
	switch method {
	case "initialize":
		answer = `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"odd","version":"1"}}}`
	case "tools/list":
		answer = `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"odd","inputSchema":{"type":"object"}}]}}`
	}
	return oddText(strings.ReplaceAll(answer, "ID", string(id)))
}

func oddText(s string) string {
	return strings.ReplaceAll(s, "HUGE", strings.Repeat("x", 17<<20))
}

func oddServer() {
	in := bufio.NewReader(os.Stdin)
	answer, at := os.Getenv(oddAnswer), os.Getenv(oddAt)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &req) != nil {
			continue
		}
		if at == "" || at == req.Method {
			fmt.Print(oddText(os.Getenv(oddLines)))
			at = "never again"
		}
		if req.ID == nil {
			continue
		}
		fmt.Println(oddReply(req.ID, req.Method, answer))
		if req.Method == "tools/call" {
			answer = calledAnswer
		}
	}
}

// oddHTTP serves an odd server over HTTP, with answers of a type. session is the id of all its
// sessions; "" means that it has none.
func oddHTTP(answer, media, session string) http.Handler {
	var called atomic.Bool
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&req) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if req.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		text := answer
		if req.Method == "tools/call" && called.Swap(true) {
			text = calledAnswer
		}
		if req.Method == "initialize" && session != "" {
			w.Header().Set("Mcp-Session-Id", session)
		}
		w.Header().Set("Content-Type", media)
		text = oddReply(req.ID, req.Method, text)
		if media == "text/event-stream" {
			text = "data: " + strings.ReplaceAll(text, "\n", "\ndata: ") + "\n\n"
		}
		_, _ = io.WriteString(w, text)
	})
}

// TestLines_NoMessages checks that what a program writes to its standard output beside messages is
// passed over, whenever it comes.
func TestLines_NoMessages(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"text":                   "Server listening on stdio\n",
		"level":                  "[INFO] up\n",
		"log of pino":            `{"level":30,"time":1,"msg":"listening"}` + "\n",
		"log with an id":         `{"level":"error","id":1,"error":"no such file"}` + "\n",
		"log over several lines": "{\n  \"level\": \"info\",\n  \"msg\": \"{\"\n}\n",
		"error without an id": `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,` +
			`"message":"Method not found"}}` + "\n",
		"no method, no id":  `{"jsonrpc":"2.0"}` + "\n",
		"another version":   `{"jsonrpc":"1.0","method":"log"}` + "\n",
		"method is no text": `{"jsonrpc":"2.0","method":5}` + "\n",
		"id is an object":   `{"jsonrpc":"2.0","id":{},"result":{}}` + "\n",
		"unknown id":        `{"jsonrpc":"2.0","id":4711,"result":{}}` + "\n",
		"notification": `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info",` +
			`"data":"x"}}` + "\n",
		"batch": `[{"jsonrpc":"2.0","method":"notifications/x"},{"level":30},{"jsonrpc":"2.0",` +
			`"method":"notifications/y"}]` + "\n",
		"array":                "[1, 2]\n[]\n[\n",
		"values":               "null\n42\n\"text\"\ntrue\n",
		"object of JavaScript": "{ host: 'localhost', port: 1 }\n",
		"cut off":              `{"level":30,"msg":"cut o` + "\n",
		"cut off between":      `{"level":30,` + "\n",
		"blank lines":          "\n\r\n  \n",
		"byte order mark":      "\uFEFF",
		"huge log":             `{"level":30,"msg":"HUGE"}` + "\n",
		"huge notification": `{"jsonrpc":"2.0","method":"notifications/message",` +
			`"params":{"data":"HUGE"}}` + "\n",
		"huge text": "HUGE\n",
	} {
		for _, at := range []string{"", "notifications/initialized", "tools/call"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				spec := stdio(t, "odd")
				spec.Env[oddAt], spec.Env[oddLines], spec.Env[oddAnswer] = at, lines, calledAnswer
				r, err := call(t, open(t, quick(), spec), "odd", `{}`)
				if err != nil || r.Text != "called" || r.IsError {
					t.Errorf("got %+v, %v", r, err)
				}
			})
		}
	}
}

// TestAnswers_Odd checks that an answer to a call that is not as the protocol has it is a result as
// far as it can be read, and a failure otherwise, whose outcome is known, and that the connection
// remains usable.
func TestAnswers_Odd(t *testing.T) {
	t.Parallel()
	result := func(r string) string { return `{"jsonrpc":"2.0","id":ID,"result":` + r + `}` }
	for name, tc := range map[string]struct {
		answer string
		want   tool.Result
		fails  string // what the error says
	}{
		"unknown content": {result(`{"content":[{"type":"widget","foo":1},{"type":"text","text":"called"}]}`),
			tool.Result{Text: "[widget content: cannot be read, 25 bytes]\ncalled"}, ""},
		"content without a type": {result(`{"content":[{"text":"x"}]}`),
			tool.Result{Text: "[content: cannot be read, 12 bytes]"}, ""},
		"broken image": {result(`{"content":[{"type":"image","data":5,"mimeType":"image/png"}]}`),
			tool.Result{Text: "[image content: cannot be read, 48 bytes]"}, ""},
		"content is a text":   {result(`{"content":"called"}`), tool.Result{Text: "called"}, ""},
		"content holds texts": {result(`{"content":["a","b"]}`), tool.Result{Text: "a\nb"}, ""},
		"content is one block": {result(`{"content":{"type":"text","text":"called"}}`),
			tool.Result{Text: "called"}, ""},
		"isError is a text": {result(`{"content":[{"type":"text","text":"no"}],"isError":"true"}`),
			tool.Result{Text: "no", IsError: true}, ""},
		"isError is a number": {result(`{"content":[{"type":"text","text":"no"}],"isError":1}`),
			tool.Result{Text: "no", IsError: true}, ""},
		"isError is the text false": {result(`{"content":[{"type":"text","text":"yes"}],"isError":"false"}`),
			tool.Result{Text: "yes"}, ""},
		"isError is null": {result(`{"content":[{"type":"text","text":"yes"}],"isError":null}`),
			tool.Result{Text: "yes"}, ""},
		"members of both kinds": {`{"jsonrpc":"2.0","method":null,"id":ID,"error":null,"result":{"content":[]}}`,
			tool.Result{}, ""},
		"batch": {`[{"jsonrpc":"2.0","method":"notifications/x"},` + calledAnswer + `]`,
			tool.Result{Text: "called"}, ""},
		"byte order mark, CRLF": {"\uFEFF" + calledAnswer + "\r\n", tool.Result{Text: "called"}, ""},
		"several lines":         {strings.ReplaceAll(calledAnswer, ",", ",\n "), tool.Result{Text: "called"}, ""},
		"result is a text":      {result(`"called"`), tool.Result{}, "its answer cannot be read"},
		"result is a list":      {result(`[]`), tool.Result{}, "its answer cannot be read"},
		"no result":             {`{"jsonrpc":"2.0","id":ID}`, tool.Result{}, "neither a result nor an error"},
		"another version": {`{"jsonrpc":"1.0","id":ID,"result":{"content":[]}}`, tool.Result{},
			"its answer cannot be read"},
		"version is a number": {`{"jsonrpc":2.0,"id":ID,"result":{"content":[]}}`, tool.Result{},
			"its answer cannot be read"},
		"error is a text": {`{"jsonrpc":"2.0","id":ID,"error":"out of paper"}`, tool.Result{},
			"failed: out of paper"},
		"code is a text": {`{"jsonrpc":"2.0","id":ID,"error":{"code":"E1","message":"out of paper"}}`,
			tool.Result{}, "failed: out of paper"},
		"too deep": {result(`{"structuredContent":` + strings.Repeat("[",
			2000) + strings.Repeat("]", 2000) + `}`), tool.Result{}, "its answer cannot be read"},
		"huge text": {result(`{"content":[{"type":"text","text":"HUGE"}]}`), tool.Result{},
			"its answer has 17825"},
		"huge, result first": {`{"result":{"content":[{"type":"text","text":"HUGE"}]},"jsonrpc":"2.0",` +
			`"id":ID}`, tool.Result{}, "more than the limit of 16777216; ask it for less"},
		"huge error": {`{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"HUGE"}}`,
			tool.Result{}, "its answer has 17825"},
		"many blocks": {result(`{"content":[` + strings.Repeat(`{"type":5},`, 10_000) + `{}]}`), tool.Result{},
			"it has 10001 content blocks, more than the limit of 10000"},
		"many answers": {`[` + strings.Repeat(calledAnswer+",", 1000) + calledAnswer + `]`, tool.Result{},
			"in a batch of 1001 messages, more than the limit of 1000"},
		"huge batch": {`[` + result(`{"content":[{"type":"text","text":"HUGE"}]}`) + `]`,
			tool.Result{}, "its answer has 17825"},
	} {
		for door, start := range map[string]func(t *testing.T) *mcp.Toolset{
			"stdio": func(t *testing.T) *mcp.Toolset {
				t.Helper()
				spec := stdio(t, "odd")
				spec.Env[oddAt], spec.Env[oddAnswer] = "never", tc.answer
				return open(t, quick(), spec)
			},
			"http, JSON": func(t *testing.T) *mcp.Toolset {
				t.Helper()
				return open(t, httpConfig(t), remote(serve(t, oddHTTP(tc.answer, "application/json", "")).URL))
			},
			"http, events": func(t *testing.T) *mcp.Toolset {
				t.Helper()
				return open(t, httpConfig(t), remote(serve(t, oddHTTP(tc.answer, "text/event-stream", "")).URL))
			},
		} {
			t.Run(name+"/"+door, func(t *testing.T) {
				t.Parallel()
				ts := start(t)
				r, err := call(t, ts, "odd", `{}`)
				if tc.fails != "" {
					wantError(t, err, tool.KindFailed, false, tc.fails)
				} else if err != nil || r.Text != tc.want.Text || r.IsError != tc.want.IsError {
					t.Errorf("got %+v, %v; want %+v", r, err, tc.want)
				}
				if r, err = call(t, ts, "odd", `{}`); err != nil || r.Text != "called" {
					t.Errorf("the next call: %+v, %v", r, err)
				}
			})
		}
	}
}

// TestHTTP_NoAnswers checks that a response to a call that is not an answer of the protocol is a
// failure with a known outcome, unless a gateway sent it for a server that did not respond.
func TestHTTP_NoAnswers(t *testing.T) {
	t.Parallel()
	const text, page, object, events = "text/plain", "text/html; charset=utf-8", "application/json", "text/event-stream"
	for _, tc := range []struct {
		status      int
		media, body string
		kind        tool.ErrorKind
		unknown     bool
		words       string
	}{
		{400, text, "bad", tool.KindFailed, false, "status 400 Bad Request: bad"},
		{401, object, `{"error":"expired"}`, tool.KindFailed, false, "status 401 Unauthorized: expired"},
		{402, object, `{"message":"pay"}`, tool.KindFailed, false, "status 402 Payment Required: pay"},
		{403, page, "<html>", tool.KindFailed, false, "status 403 Forbidden"},
		{404, text, "404 page not found", tool.KindFailed, false, "status 404 Not Found"},
		{405, text, "", tool.KindFailed, false, "status 405 Method Not Allowed"},
		{408, text, "", tool.KindNetwork, false, "status 408 Request Timeout"},
		{409, object, `{"detail":"no"}`, tool.KindFailed, false, `status 409 Conflict: {"detail":"no"}`},
		{413, page, "", tool.KindFailed, false, "status 413 Request Entity Too Large"},
		{429, object, `{"error":"slow down"}`, tool.KindNetwork, false,
			"status 429 Too Many Requests (Retry-After: 7): slow down"},
		{500, page, "", tool.KindNetwork, false, "status 500 Internal Server Error"},
		{501, text, "", tool.KindNetwork, false, "status 501 Not Implemented"},
		{502, page, "<html>", tool.KindNetwork, true, "status 502 Bad Gateway"},
		{503, text, "", tool.KindNetwork, false, "status 503 Service Unavailable"},
		{503, text, "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
			tool.KindNetwork, true, "status 503 Service Unavailable: upstream connect error"},
		{504, page, "", tool.KindNetwork, true, "status 504 Gateway Timeout"},
		{520, page, "", tool.KindNetwork, true, "status 520"},
		{522, page, "", tool.KindNetwork, true, "status 522"},
		{524, page, "", tool.KindNetwork, true, "status 524"},
		{304, text, "", tool.KindFailed, false, "status 304 Not Modified"},
		{200, page, "<html>", tool.KindFailed, false,
			"status 200 OK with content of type text/html, which is no answer"},
		{200, object, `{"ok":true}`, tool.KindFailed, false, "which is no answer of MCP"},
		{200, object, `not JSON`, tool.KindFailed, false, "which is no answer of MCP"},
		{200, "", "", tool.KindFailed, false, "with no content, which is no answer of MCP"},
		{202, "", "", tool.KindFailed, false, "status 202 Accepted with no content"},
		{204, "", "", tool.KindFailed, false, "status 204 No Content with no content"},
		{200, events, "data: {\"ok\":true}\n\n", tool.KindFailed, false, "its answer cannot be read"},
		{200, events, "data: [1]\n\n", tool.KindFailed, false, "its answer cannot be read"},
		{200, events, "data: ping\n\n", tool.KindNetwork, true, "did not respond"},
		{200, events, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"res", tool.KindNetwork, true, "did not respond"},
		{200, events, "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"res\n", tool.KindNetwork, true, "did not respond"},
		// Errors of the protocol are answers, whatever the status and the id.
		{401, object, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"expired"}}`,
			tool.KindFailed, false,
			"failed: expired"},
		{500, object, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32603,"message":"oops"}}`,
			tool.KindFailed,
			false, "failed: oops"},
		{502, object, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"oops"}}`, tool.KindFailed, false,
			"failed: oops"},
		{400, object, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no q"}}`, tool.KindInvalidArguments,
			false, "failed: no q"},
		{200, object, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"oops"}}`, tool.KindFailed, false,
			"failed: oops"},
		{200, "text/event-stream", "event: message\ndata: " + `{"jsonrpc":"2.0","id":null,"error":{"code":1,` +
			`"message":"oops"}}` +
			"\n\n", tool.KindFailed, false, "failed: oops"},
		// An answer is read whatever its type.
		{200, text, calledAnswer, "", false, ""},
		{200, "", calledAnswer, "", false, ""},
		{200, object, strings.ReplaceAll(calledAnswer, "ID", `"ID"`), "", false, ""},
		{200, "text/event-stream", "\uFEFF: hi\r\nevent\r\nid: 1\r\ndata: " + calledAnswer + "\r\n\r\n", "",
			false, ""},
		{200, "text/event-stream", "data: x\n\nevent: ping\ndata: y\n\ndata:" + calledAnswer, "", false, ""},
	} {
		test := func(t *testing.T, session string) {
			t.Parallel()
			well := oddHTTP(calledAnswer, "application/json", session)
			var calls atomic.Int64
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				if !strings.Contains(string(body), `"tools/call"`) || calls.Add(1) > 1 {
					well.ServeHTTP(w, r)
					return
				}
				var req struct{ ID json.RawMessage }
				_ = json.Unmarshal(body, &req)
				w.Header()["Content-Type"] = []string{tc.media}
				if tc.status == http.StatusTooManyRequests {
					w.Header().Set("Retry-After", "7")
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, strings.ReplaceAll(tc.body, "ID", string(req.ID)))
			}))
			ts := open(t, httpConfig(t), remote(srv.URL))
			r, err := call(t, ts, "odd", `{}`)
			kind := tc.kind
			if session != "" && tc.status == http.StatusNotFound { // the session is unknown: a new one makes the call
				kind = ""
				calls.Add(-1)
			}
			if kind != "" {
				wantError(t, err, kind, tc.unknown, tc.words)
				if strings.Contains(fmt.Sprint(err), "<html>") {
					t.Errorf("the error quotes a page: %v", err)
				}
			} else if err != nil || r.Text != "called" {
				t.Errorf("got %+v, %v", r, err)
			}
			if r, err = call(t, ts, "odd", `{}`); err != nil || r.Text != "called" || calls.Load() != 2 {
				t.Errorf("the next call: %+v, %v after %d calls", r, err, calls.Load())
			}
		}
		name := fmt.Sprint(tc.status, " ", tc.media, " ", tc.body)
		t.Run(name, func(t *testing.T) { test(t, "") })
		t.Run("in a session/"+name, func(t *testing.T) { test(t, "s1") })
	}
}

// TestHTTP_Notifications checks that a server that refuses notifications and the request for
// announcements is used nevertheless.
func TestHTTP_Notifications(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 204, 400, 401, 404, 405, 500, 501, 503} {
		well := oddHTTP(calledAnswer, "application/json", "")
		srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			if r.Method == http.MethodGet || strings.Contains(string(body), `"notifications/`) {
				w.WriteHeader(status)
				return
			}
			well.ServeHTTP(w, r)
		}))
		if r, err := call(t, open(t, httpConfig(t), remote(srv.URL)), "odd", `{}`); err != nil || r.Text != "called" {
			t.Errorf("status %d: %+v, %v", status, r, err)
		}
	}
}

// TestHTTP_NoServer checks that an address without an MCP server is named, with what is there
// instead and what to do.
func TestHTTP_NoServer(t *testing.T) {
	t.Parallel()
	respond := func(status int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	login := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			respond(200, "text/html", "<html>")(w, r)
			return
		}
		http.Redirect(w, r, "/login?next=1", http.StatusFound)
	})
	old := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: /messages?id=1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for name, tc := range map[string]struct {
		h     http.Handler
		words []string
	}{
		"web page": {respond(200, "text/html", "<html>"),
			[]string{"no MCP server answers at URL/x: status 200 OK with content of type text/html",
				"often ends in /mcp"}},
		"404": {http.NotFoundHandler(),
			[]string{"no MCP server answers at URL/x: status 404 Not Found", "often ends in /mcp"}},
		"405": {respond(405, "text/plain", ""), []string{"no MCP server answers at URL/x: status 405",
			"often ends in /mcp"}},
		"JSON API": {respond(200, "application/json", `{"ok":true}`),
			[]string{"no MCP server answers at URL/x: status 200"}},
		"empty": {respond(200, "text/plain", ""),
			[]string{"no MCP server answers at URL/x: status 200 OK with no content"}},
		"login": {login, []string{"no MCP server answers at URL/x: status 302 Found: redirects to URL/login"}},
		"sse": {old, []string{"no MCP server with streamable HTTP answers at URL/x",
			"old transport sse, which is not supported"}},
		"port": {nil, []string{"no MCP server answers at URL/x", "connection refused", "check that it runs"}},
		"unauthorized": {respond(401, "application/json", `{"error":"no token"}`),
			[]string{"the server at URL/x refuses the connection: status 401 Unauthorized: no token",
				"check the token"}},
		"down": {respond(503, "text/html", ""), []string{"the server at URL/x fails: status 503"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := closed.URL
			if tc.h != nil {
				url = serve(t, tc.h).URL
			}
			_, err := open(t, httpConfig(t), remote(url+"/x?key=1")).Tools(t.Context())
			for i := range tc.words {
				tc.words[i] = strings.ReplaceAll(tc.words[i], "URL", url)
			}
			wantError(t, err, tool.KindNetwork, false, tc.words...)
		})
	}
}
