package live_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fakeModel is a model whose calls are answered by a test.
type fakeModel func(ctx context.Context, q model.Request, say func(model.Delta)) (string, error)

func (s fakeModel) Call(ctx context.Context, q model.Request, say func(model.Delta)) (model.Reply, error) {
	if say == nil {
		say = func(model.Delta) {}
	}
	text, err := s(ctx, q, say)
	if err != nil {
		return model.Reply{}, err
	}
	return model.Reply{
		Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(text)},
		Usage:   &chat.Usage{InputTokens: 1, OutputTokens: 1}, Model: q.Model, StopReason: model.StopEnd,
	}, nil
}

// plain replies immediately.
func plain(context.Context, model.Request, func(model.Delta)) (string, error) { return "fine", nil }

// gated replies when the gate opens.
func gated(gate <-chan struct{}) fakeModel {
	return func(ctx context.Context, _ model.Request, say func(model.Delta)) (string, error) {
		say(model.Delta{Text: "fi"})
		select {
		case <-gate:
			say(model.Delta{Text: "ne"})
			return "fine", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

func open(t testing.TB, db string, m fakeModel) *service.Service {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{
		Documents: linked.Kit(),
		DB:        db, Kind: journal.KindServe, Models: map[string]model.Client{"fake": m},
		Env: func(name string) string { return map[string]string{"HOCKET_MODEL": "fake/one"}[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func onDisk(t testing.TB) string { return filepath.Join(t.TempDir(), "hocket.db") }

// chain returns a workflow of n agents in sequence.
func chain(n int) *workflow.Workflow {
	var nodes []workflow.Node
	var edges []string
	for i := range n {
		nodes = append(nodes, enginetest.Agent(fmt.Sprintf("a%d", i)))
		if i > 0 {
			edges = append(edges, fmt.Sprintf("a%d -> a%d", i-1, i))
		}
	}
	return enginetest.Graph(nodes, strings.Join(edges, ";"))
}

func start(t testing.TB, s *service.Service, w *workflow.Workflow) string {
	t.Helper()
	run, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func finished(t testing.TB, s *service.Service, w *workflow.Workflow) string {
	t.Helper()
	run := start(t, s, w)
	if st, err := s.Wait(t.Context(), run); err != nil || !st.Status.Ended() {
		t.Fatalf("the run is %s: %v", st.Status, err)
	}
	return run
}

var watcher = access.Principal{Token: "t1", Name: "watcher", Namespace: access.DefaultNamespace, Role: access.RoleRun}

// mux returns a handler behind a guard that admits every request.
func mux(s *service.Service, h *live.Handler) http.Handler {
	m := http.NewServeMux()
	m.Handle("GET /api/v1/runs/{id}/events", h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.ServeHTTP(w, r.WithContext(transport.With(r.Context(), &transport.Caller{Principal: watcher, Service: s})))
	})
}

// serve serves the events of a service on loopback.
func serve(t testing.TB, s *service.Service, cfg live.Config) (*httptest.Server, *live.Handler) {
	t.Helper()
	h := live.New(cfg)
	srv := httptest.NewServer(mux(s, h))
	t.Cleanup(func() {
		h.Close()
		srv.Close()
	})
	return srv, h
}

// message is a message of a stream.
type message struct {
	id, kind, data string
}

// stream is a connection like that of an EventSource.
type stream struct {
	status  int
	body    string // of a response that is not a stream
	lines   *bufio.Reader
	cut     func()
	retry   string
	comment int
	// recorded is the header with the number of the last recorded event.
	recorded string
}

// connect opens a stream. last is the Last-Event-ID; "" means none.
func connect(t testing.TB, url, last string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req) //nolint:bodyclose // cut closes it
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{status: resp.StatusCode, lines: bufio.NewReader(resp.Body), recorded: resp.Header.Get(live.LastEvent)}
	s.cut = func() {
		cancel()
		resp.Body.Close()
	}
	t.Cleanup(s.cut)
	if resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("content type %q", resp.Header.Get("Content-Type"))
	}
	if resp.StatusCode != http.StatusOK {
		var b strings.Builder
		_, _ = s.lines.WriteTo(&b)
		s.body = b.String()
	}
	return s
}

// next returns the next message, or false if the stream has ended.
func (s *stream) next() (message, bool) {
	var m message
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return message{}, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n" && m.kind != "":
			return m, true
		case line == "\n":
		case name == "":
			s.comment++
		case name == "id":
			m.id = value
		case name == "event":
			m.kind = value
		case name == "data":
			m.data = value
		case name == "retry":
			s.retry = value
		}
	}
}

// rest reads a stream to the end.
func (s *stream) rest() []message {
	var out []message
	for {
		m, ok := s.next()
		if !ok {
			return out
		}
		out = append(out, m)
	}
}

// stored returns the messages that a stream must show for a run's stored events.
func stored(t testing.TB, s *service.Service, run string) []message {
	t.Helper()
	rec, err := s.Read(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	f := project.NewFolder(run, rec.Workflow)
	var out []message
	events, err := s.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		b, err := journal.MarshalEvent(run, f.Expand(e))
		if err != nil {
			t.Fatal(err)
		}
		f.Add(e)
		out = append(out, message{strconv.FormatUint(e.Seq, 10), string(e.Data.Type()), string(b)})
	}
	return out
}

// events returns the messages that are events of the journal.
func events(all []message) []message {
	var out []message
	for _, m := range all {
		if m.kind != live.TypeDelta && m.kind != live.TypeReset && m.kind != live.TypeEnd {
			out = append(out, m)
		}
	}
	return out
}

func kinds(all []message) string {
	var out []string
	for _, m := range all {
		out = append(out, m.kind)
	}
	return strings.Join(out, " ")
}

func answer(t testing.TB, s *service.Service, run string) {
	t.Helper()
	if err := s.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
		Value: expr.Quote("approve")}); err != nil {
		t.Fatal(err)
	}
}

func seqOf(t testing.TB, s *service.Service, run string) (uint64, event.Status) {
	t.Helper()
	h, err := s.Head(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return h.LastSeq, h.Status
}
