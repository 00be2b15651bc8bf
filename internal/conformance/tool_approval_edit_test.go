package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// editDocument returns a document whose tool step calls pay, with permissions.
func editDocument(permissions string) string {
	return "permissions: " + permissions + "\n" + steps("a", "- {type: tool, tool: pay, args: {sum: 5, to: Bob}}\n")
}

// withPay returns a world with the tool pay.
func withPay(t *testing.T) (*world, *tooltest.Tool) {
	t.Helper()
	pay := &tooltest.Tool{
		Name: "pay",
		Params: json.RawMessage(
			`{"type":"object","required":["sum","to"],"additionalProperties":false,` +
				`"properties":{"sum":{"type":"integer","maximum":9},"to":{"type":"string"},"memo":{"type":"string",` +
				`"default":"none"}}}`),
		Fn: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{Text: "paid", Structured: c.Arguments}, nil
		},
	}
	return newWorld(t, func(c *service.Config) { c.Tools = []tool.Tool{pay} }), pay
}

// approves approves the held call with changed arguments.
func (r *run) approves(arguments string) error {
	return r.w.Answer(r.w.t.Context(), r.id, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
		Value: event.Value(`"approve"`), Arguments: event.Value(arguments)})
}

var heldEdits = []rule{
	{name: "X-125 arguments may be changed where permissions say so", test: func(t *testing.T) {
		for _, permissions := range []string{"{ask: [pay]}", "{ask: [pay], edit: [\"pay:sum=1\"]}",
			`{ask: [pay], edit: ["pay:to=Ann"]}`, "{ask: [pay], edit: [pay], deny: []}"} {
			w, pay := withPay(t)
			r := w.runs(editDocument(permissions), "go")
			offered := strings.Contains(permissions, "edit: [pay]")
			same(t, "schema "+permissions, len(r.is(event.StatusPaused).Waiting[0].Schema) > 0, offered)
			err := r.approves(`{"sum":4,"to":"Ann"}`)
			if offered != (err == nil) || err != nil &&
				(!errors.Is(err, waits.ErrAnswer) || !strings.Contains(err.Error(), "cannot be changed")) {
				t.Errorf("%s: %v", permissions, err)
			}
			if !offered {
				same(t, "calls", len(pay.Calls()), 0)
				r.answers("approve") // with unchanged arguments
			}
			want := `{"sum":5,"to":"Bob"}`
			if offered {
				want = `{"sum":4,"to":"Ann"}`
			}
			same(t, "output", string(r.is(event.StatusCompleted).Output), want)
			same(t, "calls", len(pay.Calls()), 1)
		}
		if len(refused(t, editDocument(`{ask: [pay], edit: ["pay:"]}`))) == 0 {
			t.Error("a pattern that cannot be read was taken")
		}
	}},
	{name: "X-126 changed arguments are checked where they are answered", test: func(t *testing.T) {
		w, pay := withPay(t)
		r := w.runs(editDocument("{ask: [pay], edit: [pay]}"), "go")
		for arguments, want := range map[string]string{
			`{"sum":10,"to":7,"x":1}`: "/sum must be at most 9", `{"to":"Ann"}`: "sum", `[1]`: "must be an object",
			`{"sum"`: "not JSON", `null`: "must be an object",
			`{"memo":"` + strings.Repeat("x", 1<<20) + `"}`: "the limit is 1048576",
		} {
			if err := r.approves(arguments); !errors.Is(err, waits.ErrAnswer) || !strings.Contains(err.Error(), want) {
				t.Errorf("%.40s: %.200v, want %q", arguments, err, want)
			}
		}
		no := service.AnswerRequest{By: event.LocalBy(event.ChannelProgram), Value: event.Value(`"reject"`),
			Arguments: event.Value(`{"sum":1,"to":"Ann"}`)}
		if err := w.Answer(t.Context(), r.id, no); !errors.Is(err, waits.ErrAnswer) {
			t.Errorf("a rejection with arguments: %v", err)
		}
		same(t, "open", len(r.is(event.StatusPaused).Waiting), 1)
		if err := r.approves(`{"to":"Ann", "sum":"3"}`); err != nil { // a string is read as the value it represents
			t.Fatal(err)
		}
		if err := r.approves(`{"sum":3,"to":"Ann"}`); err != nil { // the same answer again
			t.Error(err)
		}
		if err := r.approves(`{"sum":2,"to":"Ann"}`); !errors.Is(err, waits.ErrAnswered) {
			t.Errorf("another answer: %v", err)
		}
		same(t, "output, without the default of the schema", string(r.is(event.StatusCompleted).Output),
			`{"sum":3,"to":"Ann"}`)
		same(t, "calls", len(pay.Calls()), 1)

		r = w.runs(editDocument("{ask: [pay], edit: [pay]}"), "go")
		if err := r.approves(`{"to":"Bob", "sum": 5}`); err != nil {
			t.Fatal(err)
		}
		if a := r.is(event.StatusCompleted).Answers[0]; a.Arguments != nil || a.Held != nil {
			t.Errorf("the same arguments are a change: %s", asJSON(a))
		}
	}},
	{name: "X-127 permissions judge changed arguments anew", test: func(t *testing.T) {
		w, pay := withPay(t)
		r := w.runs(editDocument(`{ask: [pay], edit: [pay], deny: ["pay:to=Eve"]}`), "go")
		if err := r.approves(`{"sum":1,"to":"Eve"}`); err != nil {
			t.Fatal(err)
		}
		o := r.is(event.StatusFailed)
		if !strings.Contains(o.Error.Message, "the permissions of this run forbid it") {
			t.Errorf("a denied call: %s", asJSON(o.Error))
		}
		same(t, "calls", len(pay.Calls()), 0)

		for name, permissions := range map[string]string{
			"a further rule asks":                  `{ask: [pay, "pay:to=Ann"], edit: [pay]}`,
			"the new arguments may not be changed": `{ask: [pay], edit: ["pay:to=Bob"]}`,
		} {
			w, pay = withPay(t)
			r = w.runs(editDocument(permissions), "go")
			if err := r.approves(`{"sum":1,"to":"Ann"}`); err != nil {
				t.Fatal(name, err)
			}
			waiting := r.is(event.StatusPaused).Waiting
			same(t, name+": calls", len(pay.Calls()), 0)
			same(t, name, string(waiting[0].Arguments), `{"sum":1,"to":"Ann"}`)
			r.answers("approve")
			same(t, name+": output", string(r.is(event.StatusCompleted).Output), `{"sum":1,"to":"Ann"}`)
			same(t, name+": calls", len(pay.Calls()), 1)
		}

		// A call that is held in a child run is changed through the parent run.
		w, pay = withPay(t)
		w.storeDocument("pays", editDocument("{ask: [pay], edit: [pay]}"))
		r = w.runs(steps("a", "- {type: workflow, workflow: pays}\n"), "go")
		if err := r.approves(`{"sum":10,"to":"Ann"}`); !errors.Is(err, waits.ErrAnswer) ||
			!strings.Contains(err.Error(), "/sum must be at most 9") {
			t.Errorf("through the run above: %v", err)
		}
		if err := r.approves(`{"sum":2,"to":"Ann"}`); err != nil {
			t.Fatal(err)
		}
		same(t, "output", string(r.is(event.StatusCompleted).Output), `{"sum":2,"to":"Ann"}`)
		same(t, "calls", len(pay.Calls()), 1)
	}},
	{name: "X-128 who asked reads the arguments that were used", test: func(t *testing.T) {
		p := newTill(t)
		w := newWorld(t, onDisk(filepath.Join(t.TempDir(), "hocket.db")), func(c *service.Config) {
			c.Permissions = tool.Permissions{Ask: []string{"pay"}, Edit: []string{"pay"}}
		})
		w.replies = passing
		r := w.runs("agents:\n  three: {instruction: x, tools: [pay]}\nworkflow:\n  - {type: agent, name: three}\n",
			"go", func(q *service.StartRequest) { q.Tools = []byte(p.toolset()) })
		same(t, "held", string(r.is(event.StatusPaused).Waiting[0].Arguments), `{"sum":5,"to":"Bob"}`)
		w = w.restart()
		r = &run{w, r.id}
		if err := r.approves(`{"sum":4,"to":"Ann"}`); err != nil {
			t.Fatal(err)
		}
		if out := text(r.is(event.StatusCompleted).Output); out != "read: A person changed the arguments of this "+
			"call. It was called with: {\"sum\":4,\"to\":\"Ann\"}\n\nreceipt 1" {
			t.Errorf("the agent read %q", out)
		}
		same(t, "paid", strings.Join(p.payments(), " "), `{"sum":4,"to":"Ann"}`)
	}},
	{name: "X-129 both arguments are kept and shown", test: func(t *testing.T) {
		w, _ := withPay(t)
		r := w.runs(editDocument("{ask: [pay], edit: [pay]}"), "go")
		if err := r.approves(`{"sum":4,"to":"Ann"}`); err != nil {
			t.Fatal(err)
		}
		o := r.is(event.StatusCompleted)
		same(t, "held", string(o.Answers[0].Held), `{"sum":5,"to":"Bob"}`)
		same(t, "made", string(o.Answers[0].Arguments), `{"sum":4,"to":"Ann"}`)
		same(t, "by", o.Answers[0].By.Channel, event.ChannelProgram)
		log := strings.Join(r.log(), "\n")
		if !strings.Contains(log, `Changed arguments: {"sum":4,"to":"Ann"}.`) {
			t.Errorf("the log is\n%s", log)
		}
	}},
}

func TestHeldEdits(t *testing.T) { check(t, heldEdits) }

func TestHeldEditsCovered(t *testing.T) {
	covered(t, heldEdits, "X-125", "X-126", "X-127", "X-128", "X-129")
}
