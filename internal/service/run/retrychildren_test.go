package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/internal/tool"
)

// payTool pays at once, or hangs the first time that it is told to, and may not be repeated without
// asking.
type payTool struct{ paid, hung atomic.Int64 }

func (p *payTool) Def() chat.ToolDef {
	return chat.ToolDef{Name: "pay", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (p *payTool) Policy() tool.Policy { return tool.PolicyAsk }

func (p *payTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if strings.Contains(string(c.Arguments), "hang") && p.hung.Add(1) == 1 {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	p.paid.Add(1)
	return tool.Result{Text: "paid"}, nil
}

const (
	payerDoc = "agents:\n  Payer: {model: openai/x, tools: [pay]}\n"
	payments = `{agent: Payer, toolCalls: [{name: pay, arguments: {n: 1}}]}`
)

// TestRetry_ChildRuns checks that the retry of a run continues its child runs instead of starting
// them again, however deep they are: payments that were made are not made again, and one whose
// outcome is unknown is not made again without asking (P12).
func TestRetry_ChildRuns(t *testing.T) {
	t.Parallel()
	level := func(name, below string) string {
		return fmt.Sprintf("agents:\n  %s: {model: openai/x, toolsets: [{type: workflow, workflow: %s, tool: run}]}\n",
			name, below)
	}
	const step = "workflow: [{id: call, type: workflow, workflow: payer, input: x}]\n"
	for name, c := range map[string]struct {
		outer, then string // the second call of Payer, and what comes after it
		cancel      bool
		replies     string // of the retry
		paid, hung  int64
		paused      bool
	}{
		"cancelled in a call": {
			outer: level("Boss", "payer"), then: `{agent: Payer, toolCalls: [{name: pay, arguments: {hang: 1}}]}`,
			cancel: true, paid: 1, hung: 1, paused: true,
		},
		"cancelled in a call, two levels down": {
			outer: level("Boss", "middle"), then: `{agent: Payer, toolCalls: [{name: pay, arguments: {hang: 1}}]}`,
			cancel: true, paid: 1, hung: 1, paused: true,
		},
		"cancelled between calls": {
			outer: step, then: `{agent: Payer, text: slow, delayMs: 600000}`, cancel: true,
			replies: `{agent: Payer, text: done}`, paid: 1,
		},
		"failed": {
			outer: step, then: `{agent: Payer, error: {code: overloaded, message: later}}`,
			replies: `{agent: Payer, text: done}`, paid: 1,
		},
	} {
		for kind, db := range map[string]func(*testing.T) string{
			"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "hocket.db") },
			"postgres": func(t *testing.T) string { return pgtest.URL(t) },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				pay := &payTool{}
				s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db(t),
					Env: func(string) string { return "" }, Tools: []tool.Tool{pay},
					Stores: store.Servers{Postgres: pghome.New(nil)}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				storeAs(t, s, "payer", payerDoc)
				storeAs(t, s, "middle", level("Middle", "payer"))
				startText(t, s, "r", c.outer,
					"replies:\n  - {agent: Boss, toolCalls: [{name: run, arguments: {input: x}}]}\n"+
						"  - {agent: Middle, toolCalls: [{name: run, arguments: {input: x}}]}\n  - "+payments+"\n  - "+
						""+c.then+"\n")
				if c.cancel {
					await(t, func() bool { return hasToolResult(t, s, "r") && pay.hung.Load() == c.hung })
					if err := s.Cancel(t.Context(), "r", "enough"); err != nil {
						t.Fatal(err)
					}
				}
				if o := ended(t, s, "r"); !o.Status.Ended() || o.Status == event.StatusCompleted {
					t.Fatalf("the run is %s", o.Status)
				}
				for _, run := range chain(t, s, "r") {
					ended(t, s, run)
				}
				q := service.RetryRequest{}
				if c.replies != "" {
					q.Replies = []byte("replies:\n  - " + c.replies + "\n")
				}
				o := retried(t, s, "r", q).Object()
				if got := o.Status == event.StatusPaused; got != c.paused || !got &&
					o.Status != event.StatusCompleted {
					t.Errorf("the retry is %s, error %+v", o.Status, o.Error)
				}
				if pay.paid.Load() != c.paid || pay.hung.Load() != c.hung {
					t.Errorf("%d payments made, %d that hang, want %d and %d", pay.paid.Load(), pay.hung.Load(), c.paid,
						c.hung)
				}
				if got, want := len(chain(t, s, o.ID)), len(chain(t, s, "r")); got != want {
					t.Errorf("%d runs at and below the retry, want %d", got, want)
				}
			})
		}
	}
}

// hasToolResult reports whether the journal of a run or of one of its descendants has the result of
// a tool call. A call that is cancelled between its effect and this record has an unknown outcome.
func hasToolResult(t *testing.T, s *service.Service, run string) bool {
	t.Helper()
	for _, r := range chain(t, s, run) {
		events, err := s.Events(t.Context(), r, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if _, ok := e.Data.(*event.ToolReturned); ok {
				return true
			}
		}
	}
	return false
}
