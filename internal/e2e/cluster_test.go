//go:build unix

package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// order is a workflow with sequential and concurrent agents, and a tool whose calls are not safe to
// repeat.
const order = `name: order
agents:
  plan: {model: openai/m, instruction: plan}
  clerk:
    model: openai/m
    instruction: clerk
    toolsets:
      - type: api
        api_config:
          name: book
          instruction: Books
          method: POST
          endpoint: %s/book
          args: {what: {type: string}}
          required: [what]
  left: {model: openai/m, instruction: left}
  right: {model: openai/m, instruction: right}
  last: {model: openai/m, instruction: last}
workflow:
  - {type: agent, name: plan}
  - {type: agent, name: clerk}
  - {id: both, type: parallel, steps: [{type: agent, name: left}, {type: agent, name: right}]}
  - {type: agent, name: last}
`

// A run of order makes orderCalls model and tool calls, at most orderWidth concurrently.
const (
	orderCalls = 7
	orderWidth = 2
)

// cluster is a set of servers on one store. Each has its own model, so that a call shows which
// server made it.
type cluster struct {
	t      *testing.T
	home   string
	db     string // the URL of the store
	config string // hocket.yaml
	// args are the arguments of all servers and workers.
	args []string
	// env holds additional environment variables of servers that join.
	env []string
	// repeats means that calls may be repeated although their processes are alive.
	repeats bool
	book    *httptest.Server
	// latency is how long a model and the tool take.
	latency time.Duration

	mu      sync.Mutex
	members []*member // live members
	turn    int
	last    int // number of the newest member
	calls   []*call
	held    chan struct{}  // if not nil, answers wait until it is closed
	asked   map[string]int // a person's answers to calls of unknown outcome, by run
}

// member is one life of a server.
type member struct {
	*process
	number int
	model  *modeltest.Server
	killed bool // guarded by cluster.mu
	// ended is when it was killed as by `kill -9`, or stopped; it is zero while it runs. It
	// is guarded by cluster.mu.
	ended time.Time
}

// call is a call that reached a model or the tool.
type call struct {
	key   string  // the idempotency key
	by    *member // nil for the tool, which does not know
	reply string  // unique to this call
	// at is when the call was made: when it was read here, or when its caller was killed, if that
	// was earlier. On a busy machine it is read late, after the call of the next owner.
	at time.Time
}

var replied = regexp.MustCompile(`reply \d+`)

func newCluster(t *testing.T, db string) *cluster {
	t.Helper()
	c := &cluster{t: t, home: t.TempDir(), db: db, latency: 10 * time.Millisecond, asked: map[string]int{}}
	c.book = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply, wait := c.recordCall(r.Header.Get("Idempotency-Key"), nil)
		select {
		case <-wait:
		case <-r.Context().Done():
			return
		}
		_, _ = io.WriteString(w, reply)
	}))
	t.Cleanup(func() {
		c.book.CloseClientConnections()
		c.book.Close()
	})
	c.config = fmt.Sprintf("outbound: {allow: ['%s']}\nserver: {takeOverAfter: 15s}\n",
		strings.TrimPrefix(c.book.URL, "http://"))
	return c
}

// recordCall records a call, and returns its reply, which may be sent once wait is closed.
func (c *cluster) recordCall(key string, by *member) (reply string, wait <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reply = fmt.Sprintf("reply %d", len(c.calls)+1)
	at := time.Now()
	if by != nil && !by.ended.IsZero() {
		at = by.ended
	}
	c.calls = append(c.calls, &call{key: key, by: by, reply: reply, at: at})
	if c.held != nil {
		return reply, c.held
	}
	open := make(chan struct{})
	close(open)
	return reply, open
}

// hold makes calls wait for their replies until release is called.
func (c *cluster) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gate := make(chan struct{})
	c.held = gate
	return func() {
		c.mu.Lock()
		c.held = nil
		c.mu.Unlock()
		close(gate)
	}
}

// join starts a server. It uses the cluster's store, reached through the URL at if at is not empty.
func (c *cluster) join(at string, args ...string) *member {
	c.t.Helper()
	m, env := c.newMember(at)
	m.process = serve(c.t, c.home, env, slices.Concat(c.args, args)...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = append(c.members, m)
	return m
}

// work starts a worker, which accepts no requests.
func (c *cluster) work(args ...string) *member {
	c.t.Helper()
	m, env := c.newMember("")
	m.process = listen(c.t, c.home, env, slices.Concat([]string{"worker", "--listen", "127.0.0.1:0"}, c.args, args)...)
	m.ready(c.t)
	return m
}

// newMember creates a member with its own model, and returns the environment of its process.
func (c *cluster) newMember(at string) (*member, []string) {
	c.t.Helper()
	m := &member{}
	m.model = modeltest.Start(c.t, func(r modeltest.Request) modeltest.Answer {
		reply, wait := c.recordCall(r.Header.Get("Idempotency-Key"), m)
		a := modeltest.Answer{Text: reply, Latency: c.latency, Wait: wait}
		if len(r.Tools) > 0 && r.Messages[len(r.Messages)-1].Role != chat.RoleTool {
			a.Text, a.ToolCalls = "",
				[]chat.ToolCall{{Name: "book", Arguments: fmt.Appendf(nil, `{"what": %q}`, reply)}}
		}
		return a
	})
	file := filepath.Join(c.home, "operator.yaml")
	if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	m.number = c.last
	return m, append([]string{"OPENAI_BASE_URL=" + m.model.BaseURL(), "OPENAI_API_KEY=k", "HOCKET_CONFIG=" + file,
		"HOCKET_DB=" + cmp.Or(at, c.db)}, c.env...)
}

// kill kills a server as `kill -9` does.
func (c *cluster) kill(m *member) {
	c.mu.Lock()
	c.members = slices.DeleteFunc(c.members, func(o *member) bool { return o == m })
	m.killed, m.ended = true, time.Now()
	c.mu.Unlock()
	m.kill()
}

// nextMember returns the servers in turn.
func (c *cluster) nextMember() *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.members) == 0 {
		return nil
	}
	c.turn++
	return c.members[c.turn%len(c.members)]
}

// do sends a request to a server.
func (m *member) do(ctx context.Context, method, path, body string, header ...string) (int, []byte, error) {
	l := &load{}
	l.url.Store(&m.url)
	return l.do(ctx, method, "/api/v1"+path, []byte(body), header...)
}

// ask repeats a request until a server answers it, even if servers and the store die meanwhile.
func (c *cluster) ask(ctx context.Context, method, path, body string, header ...string) (status int, data []byte) {
	for ctx.Err() == nil {
		if m := c.nextMember(); m != nil {
			try, cancel := context.WithTimeout(ctx, 20*time.Second)
			status, data, err := m.do(try, method, path, body, header...)
			cancel()
			if err == nil && status != http.StatusServiceUnavailable {
				return status, data
			}
		}
		pause(ctx)
	}
	c.t.Errorf("%s %s was never answered: %d %s", method, path, status, data)
	return 0, nil
}

// apply stores a workflow.
func (c *cluster) apply(id, document string) {
	c.t.Helper()
	body, err := json.Marshal(map[string]any{"document": document})
	if err != nil {
		c.t.Fatal(err)
	}
	if status, data := c.ask(c.t.Context(), http.MethodPut, "/workflows/"+id, string(body)); status != http.StatusOK &&
		status != http.StatusCreated {
		c.t.Fatalf("apply %s: %d %s", id, status, data)
	}
}

// start starts a run with an idempotency key; calling it again with that key has no effect.
func (c *cluster) start(ctx context.Context, workflow, key string) string {
	status, data := c.ask(ctx, http.MethodPost, "/runs", fmt.Sprintf(`{"workflow": %q, "input": %q}`, workflow, key),
		"Idempotency-Key", key)
	var run struct{ ID string }
	if err := json.Unmarshal(data, &run); err != nil || status != http.StatusCreated && status != http.StatusOK {
		c.t.Errorf("start %s: %d %s", key, status, data)
	}
	return run.ID
}

// waitCompleted waits until a run has completed. Calls of unknown outcome are answered as by a
// person, who has them repeated.
func (c *cluster) waitCompleted(ctx context.Context, run string) {
	for ctx.Err() == nil {
		status, data := c.ask(ctx, http.MethodGet, "/runs/"+run, "")
		var o struct {
			Status  string
			Waiting []struct{ ID, Kind string }
		}
		if err := json.Unmarshal(data, &o); err != nil || status != http.StatusOK {
			c.t.Errorf("run %s: %d %s", run, status, data)
			return
		}
		switch o.Status {
		case "completed":
			return
		case "failed", "cancelled":
			c.t.Errorf("run %s: %s", run, data)
			return
		case "paused":
			for _, w := range o.Waiting {
				c.retry(ctx, run, w.ID)
			}
		}
		for range 5 { // many wait at the same time
			pause(ctx)
		}
	}
	c.t.Errorf("run %s does not end\n%s", run, c.said())
}

// retry allows a call of unknown outcome to be repeated.
func (c *cluster) retry(ctx context.Context, run, wait string) {
	c.mu.Lock()
	c.asked[run]++
	c.mu.Unlock()
	if status, data := c.ask(ctx, http.MethodPost, "/runs/"+run+"/resume",
		fmt.Sprintf(`{"wait": %q, "input": "retry"}`, wait)); status != http.StatusOK {
		c.t.Errorf("answer to %s of run %s: %d %s", wait, run, status, data)
	}
}

// open opens the store as `hocket runs` does.
func (c *cluster) open() *service.Service {
	c.t.Helper()
	at, err := store.Parse(c.db, store.Servers{Postgres: pghome.New(nil)})
	if err != nil {
		c.t.Fatal(err)
	}
	s, err := service.Look(c.t.Context(), service.Config{Documents: linked.Kit(), At: at})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = s.Close() })
	return s
}

// journals returns the events of all runs.
func (c *cluster) journals() map[string][]event.Event {
	c.t.Helper()
	s := c.open()
	defer s.Close()
	all := map[string][]event.Event{}
	for q := (journal.Query{Limit: 1000}); ; {
		heads, next, err := s.List(c.t.Context(), q)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, h := range heads {
			if all[h.Run], err = s.Events(c.t.Context(), h.Run, 0); err != nil {
				c.t.Fatal(err)
			}
		}
		if q.Cursor = next; next == "" {
			return all
		}
	}
}

// waitIdle waits until no run is in progress.
func (c *cluster) waitIdle(ctx context.Context) {
	c.t.Helper()
	for _, status := range []string{"running", "pending"} {
		for {
			_, data := c.ask(ctx, http.MethodGet, "/runs?limit=1&status="+status, "")
			var page struct{ Items []any }
			if err := json.Unmarshal(data, &page); err != nil {
				c.t.Fatalf("%s %v", data, err)
			}
			if len(page.Items) == 0 {
				break
			}
			pause(ctx)
		}
	}
}
