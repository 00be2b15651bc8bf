package schedule_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

const shelled = `
schedule: "0 9 * * *"
agents:
  a:
    model: openai/gpt-6.1-terra
    instruction: List the files.
    toolsets: [{type: shell}]
workflow:
  - {type: agent, name: a}
`

// a refused run is in every list with the reason until one is accepted; who requests a run
// learns the reason; and who publishes a workflow learns which schedules will be refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: t.TempDir() + "/hocket.db",
		Kind: journal.KindServe, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ask := service.ControlRequest{Workflow: "w", Do: service.RunSchedule, By: "ann"}

	// Without a process that runs schedules, permissions alone are certain.
	if _, problems := applyText(t, s, "w.json", daily, false); len(problems) > 0 {
		t.Errorf("problems of another process: %v", problems)
	}
	_, problems := applyText(t, s, "shelled.yaml", shelled, false)
	if len(problems) != 1 || problems[0].Code != service.CodeScheduleRefused || problems.HasErrors() ||
		!strings.Contains(problems[0].Message, "runs of the schedule shelled will be refused: the document needs "+
			"permission to run any command") || problems[0].Hint == "" {
		t.Errorf("problems of a document with commands: %v", problems)
	}
	sc, err := s.ControlSchedule(t.Context(), ask)
	if err != nil || sc.AskedRun == "" {
		t.Fatalf("requested without a scheduler: %+v, %v", sc, err)
	}
	if err := s.AwaitStart(t.Context(), sc); !errors.Is(err, service.ErrNoScheduler) {
		t.Errorf("awaited without a scheduler: %v", err)
	}
	if err := s.AwaitDecision(t.Context(), sc); err != nil {
		t.Errorf("decision without a scheduler: %v", err)
	}

	run := func(q service.ScheduleRequest) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Schedule(ctx, q) }()
		await(t, func() bool {
			alive, err := s.HasScheduler(t.Context(), "")
			return alive && err == nil
		})
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	const noModel = "no model is configured"
	stop := run(service.ScheduleRequest{})
	await(t, func() bool { return refusal(t, s) != "" })
	if got := refusal(t, s); !strings.Contains(got, noModel) {
		t.Errorf("refused: %s", got)
	}
	if sc, err = s.ControlSchedule(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	err = s.AwaitStart(t.Context(), sc)
	if code, _ := errcode.Of(err); code != errcode.ScheduleRefused || !strings.Contains(err.Error(), noModel) {
		t.Errorf("requested from a scheduler that refuses: %v", err)
	}
	for what, publish := range map[string]func() (problems error){
		"apply": func() error {
			_, problems := applyText(t, s, "w.json", daily, false)
			return problems
		},
		"publish": func() error {
			_, problems, err := s.Publish(t.Context(), "w", 1)
			return errors.Join(problems, err)
		},
	} {
		if err := publish(); err == nil || !strings.Contains(err.Error(), noModel) {
			t.Errorf("%s: %v, want the reason", what, err)
		}
	}
	if _, problems := applyText(t, s, "w.json", daily, true); len(problems) > 0 {
		t.Errorf("problems of a draft: %v", problems)
	}
	stop()

	stop = run(service.ScheduleRequest{Files: service.Files{Replies: []byte(
		"replies:\n  - {text: done, times: always}\n")}})
	if sc, err = s.ControlSchedule(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitStart(t.Context(), sc); err != nil {
		t.Errorf("requested from a scheduler that accepts: %v", err)
	}
	if _, err := s.Head(t.Context(), sc.AskedRun); err != nil {
		t.Errorf("the accepted run: %v", err)
	}
	await(t, func() bool { return refusal(t, s) == "" })
	stop()
}

// refusal returns why the last run of the schedule of w was refused, or "".
func refusal(t *testing.T, s *service.Service) string {
	t.Helper()
	list, _, _, err := s.Schedules(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range list {
		if sc.Workflow == "w" && !sc.Refused.IsZero() {
			return sc.Refusal
		}
	}
	return ""
}
