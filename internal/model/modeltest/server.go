package modeltest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

// Request is a model call as the server received it.
type Request struct {
	// Seq counts from 1 in the order of arrival.
	Seq   int    `json:"seq"`
	Path  string `json:"path"`
	Model string `json:"model"`
	// System is the system prompt, all parts joined with LF; Messages is the conversation without
	// it.
	System   string          `json:"system"`
	Messages []chat.Message  `json:"messages"`
	Tools    []chat.ToolDef  `json:"tools,omitempty"`
	Schema   json.RawMessage `json:"schema,omitempty"`
	Stream   bool            `json:"stream"`
	// Search reports whether the provider's own web search was requested.
	Search bool `json:"search,omitempty"`
	// Remote is the client's address, which is unique per connection.
	Remote string          `json:"-"`
	Header http.Header     `json:"-"`
	Body   json.RawMessage `json:"-"`
	// Context ends when the client disconnects.
	Context context.Context `json:"-"`
}

// LastText returns the text of the last message.
func (r Request) LastText() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Text.String()
}

// LastUser returns the text of the last user message.
func (r Request) LastUser() string {
	for _, v := range slices.Backward(r.Messages) {
		if v.Role == chat.RoleUser {
			return v.Text.String()
		}
	}
	return ""
}

// Fault is a way in which a response fails.
type Fault string

const (
	// FaultHang accepts the call and never responds.
	FaultHang Fault = "hang"
	// FaultDrop closes the connection instead of responding.
	FaultDrop Fault = "drop"
	// FaultCut closes the connection in the middle of the response.
	FaultCut Fault = "cut"
	// FaultEnd ends the stream properly, but in the middle of the response.
	FaultEnd Fault = "end"
	// FaultMalformed responds with invalid JSON.
	FaultMalformed Fault = "malformed"
	// FaultWhole ignores that a stream was requested and responds with one JSON value (Chat
	// Completions only).
	FaultWhole Fault = "whole"
	// FaultLate sends the error inside the stream, after half of the response.
	FaultLate Fault = "late"
)

// Answer is the server's response to a call. The zero Answer is an empty text.
type Answer struct {
	Text, Reasoning string
	// ToolCalls are assigned ids if they have none.
	ToolCalls []chat.ToolCall
	// Sources are pages that the reply cites, after a search for SearchQuery by the provider if the
	// protocol shows it (Messages).
	Sources     []Source
	SearchQuery string
	// Finish is the finish reason in terms of Chat Completions (stop, length, tool_calls,
	// content_filter), translated for the other protocols. If empty, it follows from the content.
	Finish string
	// Usage is counted in words if nil; NoUsage omits it.
	Usage   *chat.Usage
	NoUsage bool
	// Status, if 400 or more, makes the response an error built from Code and Error.
	Status     int
	Error      string
	Code       string
	RetryAfter time.Duration
	// Latency delays the response; Wait, if not nil, delays it until the channel is closed.
	Latency time.Duration
	Wait    <-chan struct{}
	Fault   Fault
}

// Source is a cited page.
type Source struct{ Title, URL string }

// Func returns the response to a call. It is called concurrently by several goroutines.
type Func func(Request) Answer

// Server is a fake model server. Its methods are safe for concurrent use.
type Server struct {
	answer Func
	url    string

	mu        sync.Mutex
	requests  []Request
	used      chat.Usage
	inFlight  int
	maxFlight int
}

// New returns a Server that serves nothing yet; it is an http.Handler.
func New(answer Func) *Server { return &Server{answer: answer} }

// Start serves answer on the loopback interface until the test ends.
func Start(t testing.TB, answer Func) *Server {
	t.Helper()
	s := New(answer)
	srv := httptest.NewServer(s)
	s.url = srv.URL
	t.Cleanup(func() {
		srv.CloseClientConnections() // otherwise a hanging call blocks Close
		srv.Close()
	})
	return s
}

// URL returns the origin of a started server, which the clients of Anthropic and Google need;
// OpenAI's need BaseURL.
func (s *Server) URL() string { return s.url }

// BaseURL returns the value for OPENAI_BASE_URL.
func (s *Server) BaseURL() string { return s.url + "/v1" }

// Requests returns the calls so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Count returns the number of calls so far whose system prompt contains marker; "" counts all.
func (s *Server) Count(marker string) int {
	n := 0
	for _, r := range s.Requests() {
		if strings.Contains(r.System, marker) {
			n++
		}
	}
	return n
}

// Counts returns the number of calls by the first line of the system prompt.
func (s *Server) Counts() map[string]int {
	out := map[string]int{}
	for _, r := range s.Requests() {
		line, _, _ := strings.Cut(r.System, "\n")
		out[line]++
	}
	return out
}

// Ledger returns the sum of the tokens reported in complete responses.
func (s *Server) Ledger() chat.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// MaxInFlight returns the maximum number of calls that were in flight at once.
func (s *Server) MaxInFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maxFlight
}

// Reset clears requests, ledger and the maximum number in flight.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.used, s.maxFlight = nil, chat.Usage{}, s.inFlight
}

// Report is the response to GET /__calls, for tests in other processes.
type Report struct {
	Total       int            `json:"total"`
	Counts      map[string]int `json:"counts"`
	Usage       chat.Usage     `json:"usage"`
	MaxInFlight int            `json:"maxInFlight"`
	Requests    []Request      `json:"requests"`
}

// wire reads and writes one protocol.
type wire interface {
	decode(path string, body []byte) (Request, error)
	errorBody(a Answer) string
	// lateError returns an error as an event of a stream.
	lateError(a Answer) string
	// events returns the response as the parts of a stream, whole as one value.
	events(req Request, a Answer) []string
	whole(req Request, a Answer) string
}

func wireOf(path string) wire {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return openaiWire{}
	case strings.HasSuffix(path, "/messages"):
		return anthropicWire{}
	case strings.Contains(path, ":streamGenerateContent"):
		return googleWire{}
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/__calls" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(Report{
			Total: s.Count(""), Counts: s.Counts(), Usage: s.Ledger(), MaxInFlight: s.MaxInFlight(),
			Requests: s.Requests(),
		})
		return
	}
	wire := wireOf(r.URL.Path)
	if wire == nil || r.Method != http.MethodPost {
		http.Error(w, `{"error":{"message":"no such path: `+r.URL.Path+`"}}`, http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req, err := wire.decode(r.URL.Path, body)
	if err != nil {
		http.Error(w, `{"error":{"message":"the fake server cannot read the request: `+err.Error()+`"}}`,
			http.StatusBadRequest)
		return
	}
	req.Path, req.Header, req.Body, req.Context, req.Remote = r.URL.Path, r.Header, body, r.Context(), r.RemoteAddr
	defer s.register(&req)()

	a := s.answer(req)
	for i := range a.ToolCalls {
		if a.ToolCalls[i].ID == "" {
			a.ToolCalls[i].ID = "call_" + itoa(req.Seq) + "_" + itoa(i)
		}
	}
	if a.Usage == nil {
		a.Usage = countWords(req, a)
	}
	if !pause(r.Context(), a) {
		return
	}
	s.write(w, r, wire, req, a)
}

// charge adds a response to the ledger before its end is sent, so that a reader of the response
// finds it there.
func (s *Server) charge(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = s.used.Add(*a.Usage)
}

// register keeps the request and counts it as in flight until the returned function is called.
func (s *Server) register(req *Request) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Seq = len(s.requests) + 1
	s.requests = append(s.requests, *req)
	s.inFlight++
	s.maxFlight = max(s.maxFlight, s.inFlight)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
	}
}

// pause waits as the answer specifies. It reports false if the client disconnected.
func pause(ctx context.Context, a Answer) bool {
	if a.Fault == FaultHang {
		<-ctx.Done()
		return false
	}
	if a.Latency > 0 {
		t := time.NewTimer(a.Latency)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
		}
	}
	if a.Wait != nil {
		select {
		case <-ctx.Done():
			return false
		case <-a.Wait:
		}
	}
	return true
}

// write sends the response. A complete and successful response is added to the ledger.
func (s *Server) write(w http.ResponseWriter, r *http.Request, wire wire, req Request, a Answer) {
	switch {
	case a.Fault == FaultDrop:
		panic(http.ErrAbortHandler)
	case a.Status >= 400 && a.Fault != FaultLate:
		if a.RetryAfter > 0 {
			w.Header().Set("Retry-After", itoa(int(a.RetryAfter/time.Second)))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, wire.errorBody(a))
		return
	case a.Fault == FaultMalformed:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\": [{\"del\n\n")
		return
	case !req.Stream || a.Fault == FaultWhole:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		s.charge(a)
		_, _ = io.WriteString(w, wire.whole(req, a))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	events := wire.events(req, a)
	stop := len(events)
	if a.Fault == FaultCut || a.Fault == FaultEnd || a.Fault == FaultLate {
		stop = max(len(events)/2, 1)
	}
	for i, e := range events[:stop] {
		if i == len(events)-1 {
			s.charge(a)
		}
		_, _ = io.WriteString(w, e)
		w.(http.Flusher).Flush()
		if r.Context().Err() != nil {
			return
		}
	}
	switch a.Fault {
	case FaultCut:
		panic(http.ErrAbortHandler)
	case FaultLate:
		_, _ = io.WriteString(w, wire.lateError(a))
	}
}
