package op_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
)

// TestAll checks that each entry is complete, and that the OpenAPI document has its route.
func TestAll(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct{ OperationID, Summary string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, o := range op.All() {
		if o.ID == "" || seen[o.ID] || !o.Role.IsKnown() || (o.Action == "") != (o.Effect == op.Reads) {
			t.Errorf("entry %q: role %q, action %q", o.ID, o.Role, o.Action)
		}
		seen[o.ID] = true
		route := doc.Paths[op.Prefix+o.HTTP.Path][strings.ToLower(o.HTTP.Method)]
		if route.OperationID != o.ID || route.Summary != o.HTTP.Summary {
			t.Errorf("%s is not the route %s %s, which is %+v", o.ID, o.HTTP.Method, o.HTTP.Path, route)
		}
		if o.Tool.Name == "" {
			continue
		}
		if len(o.Arguments()) == 0 || o.ReturnsRun() != (len(o.Results()) == 0) || o.Tool.Title == "" ||
			o.Tool.About == "" {
			t.Errorf("the tool %s is incomplete", o.Tool.Name)
		}
	}
}

// TestOperation_Decode checks how the arguments of a tool become an input.
func TestOperation_Decode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		of        op.Operation
		text      string
		want, err string
	}{
		"all": {op.RetryRun.Operation, `{"id":"r","from":"s","maxSteps":0,"maxIterations":3,"timeoutSeconds":9,` +
			`"waitSeconds":0}`, `{"ID":"r","Wait":"","Prefer":"","Seconds":0,"Body":{"from":"s","limits":` +
			`{"maxSteps":0,"maxLoopIterations":3}},"Timeout":9}`, ""},
		"alias": {op.CancelRun.Operation, `{"runId":"r"}`,
			`{"ID":"r","Wait":"","Prefer":"","Seconds":null,"Body":null}`, ""},
		"both names": {op.CancelRun.Operation, `{"id":"r","runId":"r","reason":"x"}`,
			`{"ID":"r","Wait":"","Prefer":"","Seconds":null,"Body":{"reason":"x"}}`, ""},
		"renamed": {op.SignalRun.Operation, `{"id":"r","signal":"paid","value":null,"idempotencyKey":"k"}`,
			`{"ID":"r","Name":"paid","Key":"k","Body":{"value":null}}`, ""},
		"no id":      {op.SignalRun.Operation, `{"signal":"paid"}`, "", "runId is an alias of it"},
		"two ids":    {op.SignalRun.Operation, `{"id":"a","runId":"b"}`, "", `"a", but runId says "b"`},
		"wrong type": {op.SignalRun.Operation, `{"id":"a","signal":5}`, "", "cannot unmarshal number"},
		"no object":  {op.SignalRun.Operation, `[]`, "", "cannot unmarshal array"},
	} {
		in, err := tc.of.Decode([]byte(tc.text))
		if tc.err != "" {
			if !errors.As(err, new(*service.InvalidError)) || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v, want %s", name, err, tc.err)
			}
			continue
		}
		got, _ := json.Marshal(in)
		if string(got) != tc.want || err != nil {
			t.Errorf("%s: %s %v, want %s", name, got, err, tc.want)
		}
	}
}

// TestOperation_Result checks that the result of a tool has the fields by the names of the tool.
func TestOperation_Result(t *testing.T) {
	t.Parallel()
	for want, out := range map[string]service.SignalResult{
		`{"runId":"r","signal":"s","key":"k","next":"No step takes the signal now; ` +
			`the run keeps it for a later step."}`: {
			Run: "r", Signal: "s", Key: "k"},
		`{"runId":"r","signal":"s","key":"<","wait":"w","node":"n","next":"The run continues: get_run shows it."}`: {
			Run: "r", Signal: "s", Key: "<", Wait: "w", Node: "n"},
	} {
		got, err := op.SignalRun.Result(out)
		if text := strings.ReplaceAll(string(got), "\\u003c", "<"); text != want || err != nil {
			t.Errorf("%s %v, want %s", text, err, want)
		}
	}
}

// TestOperation_Request checks the requests of the client.
func TestOperation_Request(t *testing.T) {
	t.Parallel()
	for want, tc := range map[string]struct {
		of op.Operation
		in any
	}{
		`POST http://h/p/api/v1/runs/a%2Fb/signals/paid map[Content-Type:[application/json] Idempotency-Key:[k]] ` +
			`{"value":null}`: {op.SignalRun.Operation, &op.SignalIn{RunPath: op.RunPath{ID: "a/b"}, Name: "paid",
			Key: "k", Body: &op.SignalBody{Value: []byte("null")}}},
		`POST http://h/p/api/v1/runs/r/cancel?wait=1m map[Prefer:[wait=5]] `: {op.CancelRun.Operation,
			&op.CancelIn{RunPath: op.RunPath{ID: "r"}, WaitOptions: op.WaitOptions{Wait: "1m", Prefer: "wait=5"}}},
		`POST http://h/p/api/v1/runs/r/retry map[Content-Type:[application/json]] {}`: {op.RetryRun.Operation,
			&op.RetryIn{RunPath: op.RunPath{ID: "r"}}},
	} {
		r, err := tc.of.Request(t.Context(), "http://h/p", tc.in)
		if err != nil {
			t.Fatal(err)
		}
		var body []byte
		if r.Body != nil {
			if body, err = io.ReadAll(r.Body); err != nil {
				t.Fatal(err)
			}
		}
		got := strings.Join([]string{r.Method, r.URL.String(), fmt.Sprint(r.Header), string(body)}, " ")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	}
	keys := map[string]bool{}
	for range 2 {
		r, err := op.SignalRun.Request(t.Context(), "http://h", &op.SignalIn{})
		if err != nil {
			t.Fatal(err)
		}
		keys[r.Header.Get("Idempotency-Key")] = true
	}
	if len(keys) != 2 || keys[""] {
		t.Errorf("requests without a key have %v", keys)
	}
}

// TestOp_Do checks that every transport asks for the role first, and that the log gets what was done.
func TestOp_Do(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var log []string
	record := func(action, target string) { log = append(log, action+" "+target) }
	local := op.Local(s, record)
	w, err := op.Document(t.Context(), local.Caller, "workflow: [{type: signal, signal: paid, id: pay}]\n", "order",
		service.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: "r",
		Trigger: service.TriggerProgram}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	in := &op.SignalIn{RunPath: op.RunPath{ID: "r"}, Name: "paid"}
	for want, who := range map[string]*transport.Caller{
		"send Authorization":       {Principal: access.Principal{Role: access.RoleAdmin}},
		"authentication required":  {Service: s},
		"the role run is required": {Service: s, Principal: access.Principal{Role: "guest"}},
	} {
		_, err := op.SignalRun.Do(t.Context(), &op.Caller{Caller: who, Channel: event.ChannelHTTP, Record: record}, in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := op.SignalRun.Do(t.Context(), local, &op.SignalIn{RunPath: op.RunPath{ID: "none"}}); err == nil {
		t.Error("no error for a run that does not exist")
	}
	got, err := op.SignalRun.Do(t.Context(), local, in)
	if err != nil || got.Node != "pay" || got.Later() {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Wait(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	_, err = op.CancelRun.Do(t.Context(), local, &op.CancelIn{RunPath: in.RunPath})
	if !errors.Is(err, engine.ErrEnded) {
		t.Errorf("a run that completed is cancelled: %v", err)
	}
	if d := cmp.Diff([]string{"runs.signal r paid"}, log); d != "" {
		t.Errorf("log: -want +got\n%s", d)
	}
	rec, err := s.Read(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if by := rec.Waits[0].Answer.By; by.String() != "local (cli)" {
		t.Errorf("sent by %s", by)
	}
}

// TestFieldError checks that an invalid field is named in the error, for each transport.
func TestFieldError(t *testing.T) {
	t.Parallel()
	_, err := op.WaitOptions{Wait: "soon"}.Time()
	if !regexp.MustCompile(`query\.wait.*duration`).MatchString(err.Error()) ||
		service.CodeOf(err) != service.CodeInvalid {
		t.Errorf("%v (%s)", err, service.CodeOf(err))
	}
	if _, err := (op.WaitOptions{Wait: "2h"}).Time(); err == nil {
		t.Error("a request may wait for two hours")
	}
	if d, err := (op.WaitOptions{Prefer: "x, wait=90"}).Time(); d.Seconds() != 60 || err != nil {
		t.Errorf("%v, %v", d, err)
	}
}
