//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/client/api"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/op"
)

// decider is a transport through which a person decides.
type decider interface {
	// start starts a run of the workflow gates, and returns its id once it waits.
	start(t *testing.T) string
	// paused returns the ids of the waiting runs, as a list shows them.
	paused(t *testing.T) []string
	// show returns the current state of the run.
	show(t *testing.T, run string) shown
	// decide sends an answer; wait "" names no wait. It returns the run's status afterwards, or the
	// word for the reason of the rejection.
	decide(t *testing.T, run, wait, decision string) string
	cancel(t *testing.T, run string)
}

// shown is a run as all transports show it.
type shown struct {
	Status  string
	Waiting []struct{ ID, Node, Kind, Tool string }
	Outputs map[string]any
	Usage   struct{ ToolCalls int }
}

// Reasons for a rejection, with the same words for every transport.
const (
	ambiguous = "ambiguous"
	answered  = "answered"
	closed    = "closed"
	unknown   = "unknown"
)

// TestApproval_AllTransports plays one scenario with every transport that accepts decisions: two
// approvals that are open at the same time are found in a list, inspected and decided one by one
// (P1, P23); an answer that names neither is rejected, repeating an answer changes nothing, the
// opposite answer is a conflict, and a closed wait stays closed (P24).
func TestApproval_AllTransports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	c := w.client(testToken)
	res := must(c.CreateWorkflowWithResponse(t.Context(), api.CreateBody{Id: new("gates"), Document: gates}))
	checkStatus(t, res, 201, res.JSON201)
	for name, way := range map[string]struct {
		d  decider
		by event.Actor
	}{
		"API": {&byAPI{w, c}, event.Actor{Name: "HOCKET_TOKEN", Channel: event.ChannelHTTP}},
		"CLI at the server": {&byCLI{w, []string{"--server", w.p.url}},
			event.Actor{Name: "HOCKET_TOKEN", Channel: event.ChannelHTTP}},
		"CLI beside on a file": {&byCLI{w, nil}, event.LocalBy(event.ChannelCLI)},
		"MCP": {&byMCP{w, w.session(t, testToken)},
			event.Actor{Name: "HOCKET_TOKEN", Channel: event.ChannelMCP}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decideBoth(t, w, way.d, way.by)
			tooLate(t, way.d)
		})
	}
}

// decideBoth decides both waits of a run, the last one first.
func decideBoth(t *testing.T, w *world, d decider, by event.Actor) {
	run := d.start(t)
	if list := d.paused(t); !slices.Contains(list, run) {
		t.Errorf("the list %v has no %s", list, run)
	}
	o := d.show(t, run)
	if o.Status != "paused" || len(o.Waiting) != 2 || o.Waiting[0].Tool != "think" || o.Waiting[1].Kind != "approval" {
		t.Fatalf("shown %+v", o)
	}
	first, second := o.Waiting[0].ID, o.Waiting[1].ID
	steps := []struct{ wait, decision, want string }{
		{"", "approve", ambiguous},
		{"w999", "approve", unknown},
		{second, "reject", "paused"},
		{second, "reject", "paused"},
		{second, "approve", answered},
		{first, "approve", "completed"},
		{first, "approve", "completed"},
		{first, "reject", answered},
		{second, "reject", "completed"},
		{"", "approve", "completed"}, // if none is open, it refers to the wait that ended last
		{"", "reject", answered},
	}
	for i, s := range steps {
		if got := d.decide(t, run, s.wait, s.decision); got != s.want {
			t.Fatalf("step %d, %s of %q: %s, want %s", i+1, s.decision, s.wait, got, s.want)
		}
	}
	o = d.show(t, run)
	if slices.Contains(d.paused(t), run) || o.Status != "completed" || len(o.Waiting) != 0 || o.Usage.ToolCalls != 1 {
		t.Errorf("at the end %+v", o)
	}
	// The API shows the same, with each answer once.
	tr := &tour{world: w, ctx: t.Context(), c: w.client(testToken)}
	n := 0
	for _, kind := range tr.eventsOf(t, run) {
		if kind == "wait.answered" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d answers are in the journal", n)
	}
	// The run object and the audit log name who answered, for each answer.
	var run2 struct {
		Answers []struct {
			Wait string
			By   event.Actor
			At   time.Time
		}
	}
	w.withTest(t).do("GET", "/api/v1/runs/"+run, "").is(200).into(&run2)
	audit := w.withTest(t).do("GET", "/api/v1/audit?limit=200", "").is(200).body
	for i, wait := range []string{second, first} {
		if len(run2.Answers) != 2 || run2.Answers[i].Wait != wait || run2.Answers[i].At.IsZero() ||
			run2.Answers[i].By.Name != by.Name || run2.Answers[i].By.Channel != by.Channel {
			t.Fatalf("answers %+v, want two by %v", run2.Answers, by)
		}
		if want := fmt.Sprintf(`"actor":%q,"channel":%q,"action":"runs.answer","target":%q,"outcome":"ok"`, by.Name,
			by.Channel, run+" "+wait); !strings.Contains(audit, want) {
			t.Errorf("the audit log lacks %s: %s", want, audit)
		}
	}
}

// tooLate sends a decision for a closed wait.
func tooLate(t *testing.T, d decider) {
	run := d.start(t)
	wait := d.show(t, run).Waiting[0].ID
	d.cancel(t, run)
	if got := d.decide(t, run, wait, "approve"); got != closed {
		t.Errorf("a decision about a cancelled run: %s", got)
	}
	if o := d.show(t, run); o.Status != "cancelled" || len(o.Waiting) != 0 {
		t.Errorf("cancelled %+v", o)
	}
}

// refusalReason returns the word for the reason in a rejection message.
func refusalReason(text string) string {
	for is, of := range map[string][]string{
		ambiguous: {waits.ErrAmbiguous.Error(), "waits for 2 answers"},
		answered:  {waits.ErrAnswered.Error(), "already has a different answer"},
		closed:    {waits.ErrClosed.Error(), "that wait is not open any more"},
		unknown:   {waits.ErrNotFound.Error(), "no such wait"},
	} {
		if slices.ContainsFunc(of, func(s string) bool { return strings.Contains(text, s) }) {
			return is
		}
	}
	return text
}

// byAPI decides through the generated client.
type byAPI struct {
	w *world
	c *api.ClientWithResponses
}

func (d *byAPI) start(t *testing.T) string {
	t.Helper()
	res := must(d.c.StartRunWithResponse(t.Context(), &api.StartRunParams{Wait: new("1m")},
		api.StartBody{Workflow: new("gates")}))
	return checkStatus(t, res, 201, res.JSON201).Id
}

func (d *byAPI) paused(t *testing.T) (runs []string) {
	t.Helper()
	res := must(d.c.ListWaitsWithResponse(t.Context(), &api.ListWaitsParams{Limit: new(int64(200))}))
	for _, w := range checkStatus(t, res, 200, res.JSON200).Items {
		runs = append(runs, w.Run)
	}
	return runs
}

func (d *byAPI) show(t *testing.T, run string) (o shown) {
	t.Helper()
	d.w.withTest(t).do("GET", "/api/v1/runs/"+run, "").is(200).into(&o)
	return o
}

func (d *byAPI) decide(t *testing.T, run, wait, decision string) string {
	t.Helper()
	body := api.ResumeBody{Decision: &decision}
	if wait != "" {
		body.Wait = &wait
	}
	res := must(d.c.ResumeRunWithResponse(t.Context(), run, &api.ResumeRunParams{Wait: new("1m")}, body))
	if res.StatusCode() == http.StatusOK {
		return res.JSON200.Status
	}
	var p api.Problem
	if err := json.Unmarshal(res.Body, &p); err != nil {
		t.Fatalf("%v: %s", err, res.Body)
	}
	is := refusalReason(*p.Detail)
	want := map[string]string{ambiguous: "409 conflict", answered: "409 conflict", closed: "410 gone",
		unknown: "404 not_found"}[is]
	if got := fmt.Sprintf("%d %s", res.StatusCode(), p.Code); got != want {
		t.Errorf("%s is %s, want %s", is, got, want)
	}
	return is
}

func (d *byAPI) cancel(t *testing.T, run string) {
	t.Helper()
	d.w.withTest(t).operate(op.CancelRun.Operation, &op.CancelIn{RunPath: op.RunPath{ID: run},
		WaitOptions: op.WaitOptions{Wait: "1m"}}).is(http.StatusOK)
}

// byCLI decides through the command line, connected to the server or directly on its store.
type byCLI struct {
	w     *world
	where []string
}

func (d *byCLI) hocket(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	bin := programOf(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, append(args, d.where...)...)
	cmd.Dir = d.w.home
	cmd.Env = append([]string{"HOME=" + d.w.home, "HOCKET_HOME=" + d.w.home, "HOCKET_TOKEN=" + testToken,
		"PATH=" + os.Getenv("PATH")}, d.w.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// json runs a command that succeeds and prints JSON.
func (d *byCLI) json(t *testing.T, v any, args ...string) {
	t.Helper()
	status, stdout, stderr := d.hocket(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), v); err != nil || status != 0 {
		t.Fatalf("%v: %d %s %s, %v", args, status, stdout, stderr, err)
	}
}

func (d *byCLI) start(t *testing.T) string {
	t.Helper()
	status, stdout, stderr := d.hocket(t, "run", "--workflow", "gates", "--json")
	var o struct{ ID string }
	if err := json.Unmarshal([]byte(stdout), &o); err != nil || status != 3 ||
		!strings.Contains(stderr, "hocket resume "+o.ID) {
		t.Fatalf("run: %d %s %s, %v", status, stdout, stderr, err)
	}
	return o.ID
}

func (d *byCLI) paused(t *testing.T) (runs []string) {
	t.Helper()
	var list []struct{ ID string }
	d.json(t, &list, "runs", "--status", "paused")
	for _, r := range list {
		runs = append(runs, r.ID)
	}
	return runs
}

func (d *byCLI) show(t *testing.T, run string) (o shown) {
	t.Helper()
	d.json(t, &o, "runs", "show", run)
	return o
}

func (d *byCLI) decide(t *testing.T, run, wait, decision string) string {
	t.Helper()
	args := []string{"resume", run, "--" + decision}
	if wait != "" {
		args = append(args, "--wait", wait)
	}
	status, stdout, stderr := d.hocket(t, args...)
	switch status {
	case 0:
		return "completed"
	case 2:
		return refusalReason(stderr)
	case 3:
		return "paused"
	}
	return fmt.Sprint(status, stdout, stderr)
}

func (d *byCLI) cancel(t *testing.T, run string) {
	t.Helper()
	if status, _, stderr := d.hocket(t, "cancel", run); status != 0 {
		t.Fatalf("cancel: %d %s", status, stderr)
	}
}

// byMCP decides through the tools of /mcp, with a token that may approve.
type byMCP struct {
	w *world
	s *sdk.ClientSession
}

// call calls a tool; refused is its error message.
func (d *byMCP) call(t *testing.T, tool string, args map[string]any, v any) (refused string) {
	t.Helper()
	res, err := d.s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if res.IsError {
		text, err := json.Marshal(res.Content)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	text, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", tool, err, text)
	}
	return ""
}

// mustCall calls a tool that must succeed and decodes its result into v.
func (d *byMCP) mustCall(t *testing.T, tool string, args map[string]any, v any) {
	t.Helper()
	if text := d.call(t, tool, args, v); text != "" {
		t.Fatalf("%s: %s", tool, text)
	}
}

func (d *byMCP) start(t *testing.T) string {
	t.Helper()
	var o struct{ RunID, Status string }
	if d.mustCall(t, "execute_workflow", map[string]any{"id": "gates", "waitSeconds": 60}, &o); o.Status != "paused" {
		t.Fatalf("started %+v", o)
	}
	return o.RunID
}

func (d *byMCP) paused(t *testing.T) (runs []string) {
	t.Helper()
	var list struct {
		Runs []struct{ ID, RunID string }
	}
	d.mustCall(t, "list_runs", map[string]any{"status": []string{"paused"}}, &list)
	for _, r := range list.Runs {
		runs = append(runs, r.RunID+r.ID)
	}
	return runs
}

func (d *byMCP) show(t *testing.T, run string) (o shown) {
	t.Helper()
	d.mustCall(t, "get_run", map[string]any{"id": run}, &o)
	return o
}

func (d *byMCP) decide(t *testing.T, run, wait, decision string) string {
	t.Helper()
	args := map[string]any{"id": run, "decision": decision, "waitSeconds": 60}
	if wait != "" {
		args["wait"] = wait
	}
	var o struct{ Status string }
	if refused := d.call(t, "resume_run", args, &o); refused != "" {
		is := refusalReason(refused)
		if code := map[string]string{ambiguous: "conflict", answered: "conflict", closed: "gone",
			unknown: "not_found"}[is]; !strings.Contains(refused, code) {
			t.Errorf("%s is not told as %s: %s", is, code, refused)
		}
		return is
	}
	return o.Status
}

func (d *byMCP) cancel(t *testing.T, run string) {
	t.Helper()
	d.mustCall(t, "cancel_run", map[string]any{"id": run}, &struct{}{})
}
