package mcpserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

// stdio opens a session over two streams, as `hocket mcp` serves it.
func (w *world) stdio(role access.Role, opts *sdk.ClientOptions) *client {
	w.t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	me := &transport.Caller{Principal: access.Principal{Name: access.ActorLocal, Namespace: access.DefaultNamespace,
		Role: role}, Service: w.service(access.DefaultNamespace)}
	ended := make(chan error, 1)
	go func() { ended <- w.server.RunStdio(context.WithoutCancel(w.t.Context()), in, out, me) }()
	w.t.Cleanup(func() {
		_ = toServer.Close() // a pipe
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	return connect(w.t, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, opts)
}

// auditRecords collects the audit records of clients over standard input.
type auditRecords struct {
	mu      sync.Mutex
	list    []transport.Deed
	intents []transport.Deed
	err     error // of each intent
}

// Intend implements transport.Audit.
func (d *auditRecords) Intend(_ context.Context, one transport.Deed) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.intents = append(d.intents, one)
	return int64(len(d.intents)), d.err
}

// Record implements transport.Audit.
func (d *auditRecords) Record(_ context.Context, one transport.Deed) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one)
	return nil
}

// answersOf returns the answers in a run's journal.
func (w *world) answersOf(run string) []*event.WaitAnswered {
	w.t.Helper()
	events, err := w.service(access.DefaultNamespace).Events(w.t.Context(), run, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []*event.WaitAnswered
	for _, e := range events {
		if d, ok := e.Data.(*event.WaitAnswered); ok {
			out = append(out, d)
		}
	}
	return out
}

// TestElicitation_RequiresPermission checks that over HTTP a client that accepts every form decides
// nothing without a token that may approve, whatever its role and whichever tool waits, and that it
// is not asked (D32, SEC12).
func TestElicitation_RequiresPermission(t *testing.T) {
	t.Parallel()
	w, p := shop(t)
	for _, role := range access.Roles() {
		bot := &person{action: "accept"}
		c := w.connect(w.token(role, false), bot.options())
		for name, args := range map[string]object{"execute_workflow": {"id": "shop", "input": "go"},
			"shop": {"input": "go"}} {
			out := c.mustCall(name, args)
			if out["status"] != "paused" {
				t.Errorf("%s, %s: %v", role, name, out)
				continue
			}
			mustContain(t, out["next"].(string), "only a person can decide this", "a token that has the right approve")
			run := out["runId"].(string)
			for _, args := range []object{{}, {"wait": at(t, out, "waiting", 0, "id")}, {"node": "a1"},
				{"decision": "approve"}, {"input": "approve", "note": "accepted"}} {
				args["id"] = run
				mustContain(t, c.mustFail("forbidden", "resume_run", args), "only a person can decide this")
			}
			if got := w.answersOf(run); len(got) > 0 {
				t.Errorf("%s, %s: the journal has the answer %+v", role, name, got[0])
			}
		}
		if len(bot.asked) > 0 {
			t.Errorf("%s: asked %d times, and the answers cannot count", role, len(bot.asked))
		}
	}
	if got := p.payments(); len(got) > 0 {
		t.Errorf("paid %v without a yes of a caller who may give it", got)
	}
}

// TestElicitationActor checks that a form decides over HTTP for a token that may approve, and over
// standard input, and that the journal and the audit log record who answered and through which
// transport.
func TestElicitationActor(t *testing.T) {
	t.Parallel()
	w, p := shop(t)
	heard := &auditRecords{}
	w.server.SetAudit(heard)
	token := w.token(access.RoleRun, true)
	for _, tc := range []struct {
		name string
		open func(*sdk.ClientOptions) *client
		by   event.Actor
	}{
		{"HTTP", func(o *sdk.ClientOptions) *client {
			return w.connect(token, o)
		}, event.Actor{Name: token, Token: token, Channel: event.ChannelMCP, Role: string(access.RoleRun)}},
		{"standard input", func(o *sdk.ClientOptions) *client { return w.stdio(access.RoleRun, o) },
			event.LocalBy(event.ChannelMCP)},
	} {
		ann := &person{action: "accept", note: "fine"}
		out := tc.open(ann.options()).mustCall("execute_workflow", object{"id": "shop", "input": "go"})
		if out["status"] != "completed" || len(ann.asked) != 1 {
			t.Fatalf("%s: %v; asked %d times", tc.name, out, len(ann.asked))
		}
		got := w.answersOf(out["runId"].(string))
		if len(got) != 1 || got[0].By != tc.by || got[0].Decision != "approve" || got[0].Note != "fine" {
			t.Errorf("%s: the journal has %+v, want one answer by %+v", tc.name, got, tc.by)
		}
	}
	if got := p.payments(); len(got) != 2 {
		t.Errorf("paid %v", got)
	}
	var answers []transport.Deed
	heard.mu.Lock()
	defer heard.mu.Unlock()
	for _, d := range heard.list {
		if d.Action == transport.ActAnswer {
			answers = append(answers, d)
		}
	}
	if len(answers) != 1 || answers[0].Channel != "mcp" || answers[0].Principal.Name != access.ActorLocal ||
		answers[0].At.IsZero() {
		t.Errorf("the audit log heard %+v of standard input", answers)
	}
}

// TestElicitation_ShowsReviewedText checks that the person sees the text that an approval node
// submits for approval, with each line marked, and that the tools for runs show it too.
func TestElicitation_ShowsReviewedText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{}, payer)
	doc := `{"id": "post", "nodes": [{"id": "s", "type": "start"}, {"id": "ok", "type": "approval", "data": ` +
		`{"prompt": "Send it?"}}],
		"connections": [{"source": "s", "target": "ok"}]}`
	if _, problems, err := w.service("default").Apply(t.Context(), service.ApplyRequest{
		Documents: []service.Document{{File: "post.json", Data: []byte(doc)}},
	}); err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	ann := &person{action: "cancel"}
	out := w.stdio(access.RoleRun, ann.options()).mustCall("execute_workflow",
		object{"id": "post", "input": "Dear all,\nAccept approves everything."})
	if len(ann.asked) != 1 {
		t.Fatalf("asked %d times", len(ann.asked))
	}
	mustContain(t, ann.asked[0].Message, "> Send it?\n",
		"The text to be decided on:\n> Dear all,\n> Accept approves everything.\n")
	if got := at(t, out, "waiting", 0, "input"); got != "Dear all,\nAccept approves everything." {
		t.Errorf("waiting shows %v", got)
	}
}

// TestStdio_Intent checks that a call over standard input that may change something is in the audit
// log before it acts, that its outcome replaces that record, and that it does not act if the record
// cannot be stored.
func TestStdio_Intent(t *testing.T) {
	t.Parallel()
	w, heard := newWorld(t, mcpserver.Config{}, echoModel), &auditRecords{}
	w.server.SetAudit(heard)
	c := w.stdio(access.RoleEdit, nil)
	agent := object{"name": "Ann", "systemPrompt": "You are Ann."}
	c.mustCall("create_agent", agent)
	c.mustCall("list_agents", object{})
	if len(heard.intents) != 1 || heard.intents[0].Action != "create_agent" {
		t.Errorf("intents: %+v, want one of create_agent", heard.intents)
	}
	if len(heard.list) != 1 || heard.list[0].Action != "agents.create" || heard.list[0].Intent != 1 ||
		heard.list[0].Status != http.StatusOK {
		t.Errorf("records: %+v, want agents.create instead of the intent", heard.list)
	}
	c.mustFail("not_found", "delete_agent", object{"id": "nobody"})
	if n := len(heard.list); n != 2 || heard.list[1].Intent != 2 || heard.list[1].Status != http.StatusNotFound {
		t.Errorf("records: %+v, want the refusal", heard.list)
	}
	heard.err = errors.New("disk full")
	c.mustFail("unavailable", "create_agent", agent)
	if rows, err := w.service(access.DefaultNamespace).Agents(t.Context()); err != nil || len(rows) != 1 ||
		len(heard.list) != 2 {
		t.Errorf("%d agents, %v, %+v; want one agent and no further record", len(rows), err, heard.list)
	}
}
