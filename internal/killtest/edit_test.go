package killtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// envEdit makes a child change the arguments of a held call and kill itself at a write: it is an
// editKill in JSON.
const envEdit = "HOCKET_TEST_EDIT"

// editKill specifies when a child dies: before or after a write, by its number, counted from 1.
type editKill struct {
	Write   int
	IsAfter bool
}

func (k editKill) run() string { return fmt.Sprintf("edit-%d-%t", k.Write, k.IsAfter) }

// editDocument has a held call whose arguments a person may change.
const editDocument = `
permissions: {ask: [pay], edit: [pay]}
workflow: [{id: a, type: tool, tool: pay, args: {sum: 5, to: Bob}}]
`

const editedArguments = `{"sum":2,"to":"Ann"}`

// editService opens a service whose tool records the arguments of its calls, by run.
func editService(ctx context.Context, db, diaryPath string, servers store.Servers) (*service.Service, error) {
	d, err := openDiary(diaryPath, "")
	if err != nil {
		return nil, err
	}
	pay := &tooltest.Tool{
		Name: "pay", Retry: true,
		Params: json.RawMessage(
			`{"type":"object","required":["sum","to"],"properties":{"sum":{"type":"integer"},"to":{"type":"string"}}}`),
		Fn: func(_ context.Context, c tool.Call) (tool.Result, error) {
			return tool.Result{Text: "paid", Structured: c.Arguments}, d.write(wroteCall, c.Run, string(c.Arguments))
		},
	}
	return service.Open(ctx, service.Config{Documents: linked.Kit(), DB: db, Stores: servers, Env: func(string) string {
		return ""
	}, Tools: []tool.Tool{pay}})
}

// editRun starts or resumes the run, approves its call with other arguments, and waits for its end.
// It may be repeated at any time.
func editRun(ctx context.Context, s *service.Service, run string) error {
	w, list, err := s.Load(ctx, "edit.yaml", []byte(editDocument), service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return errors.Join(list.Err(), err)
	}
	if _, err = s.Start(ctx, service.StartRequest{RunID: run, Workflow: w}); errors.Is(err, journal.ErrExists) {
		err = s.Resume(ctx, run)
	}
	if err != nil && !errors.Is(err, engine.ErrEnded) {
		return err
	}
	st, err := s.Wait(ctx, run)
	if err != nil || st.Status != event.StatusPaused {
		return err
	}
	err = s.Answer(ctx, run, service.AnswerRequest{
		By: event.LocalBy(event.ChannelProgram), Value: event.Value(`"approve"`),
		Arguments: event.Value(editedArguments), Key: "once",
	})
	if err == nil {
		_, err = s.Wait(ctx, run)
	}
	return err
}

// childEdit executes one run, and dies at the specified write.
func childEdit(string) error {
	ctx := context.Background()
	var k editKill
	if err := json.Unmarshal([]byte(os.Getenv(envEdit)), &k); err != nil {
		return err
	}
	kind := deadlyKind{db: os.Getenv(envDB), k: lineKill{Write: k.Write, IsAfter: k.IsAfter}}
	// the URL is a placeholder: kind opens a file
	s, err := editService(ctx, "postgres://localhost/no-server", os.Getenv(envDiary), store.Servers{Postgres: kind})
	if err != nil {
		return err
	}
	defer s.Close()
	return editRun(ctx, s, k.run())
}

// TestKillEdits checks: a process is killed before or after each write of a run
// whose held call is approved with other arguments. The call is made with those arguments alone,
// the answer is recorded once, and both sets of arguments are kept.
func TestKillEdits(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	db, path := filepath.Join(folder, "hocket.db"), filepath.Join(folder, "diary")
	s, err := editService(t.Context(), db, path, store.Servers{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kills := 0
	play := func(k editKill) (isWhole bool) {
		plan, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), self)
		c.Env, c.Stderr = append(os.Environ(), killtest.ChildEnv+"=edit", envDB+"="+db, envDiary+"="+path,
			envEdit+"="+string(plan)), os.Stderr
		err = c.Run()
		if isWhole = err == nil; !isWhole && c.ProcessState.ExitCode() == 1 {
			t.Fatalf("%s: the child failed", k.run())
		}
		if !isWhole {
			kills++
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if err := editRun(ctx, s, k.run()); err != nil {
			t.Fatalf("%s: %v", k.run(), err)
		}
		o, err := s.Show(ctx, k.run())
		if err != nil || o.Status != event.StatusCompleted || string(o.Output) != editedArguments {
			t.Fatalf("%s is %s with %s, %v", k.run(), o.Status, o.Output, err)
		}
		if len(o.Answers) != 1 || string(o.Answers[0].Held) != `{"sum":5,"to":"Bob"}` ||
			string(o.Answers[0].Arguments) != editedArguments {
			t.Errorf("%s has the answers %+v", k.run(), o.Answers)
		}
		return isWhole
	}
	for write, isWhole := 1, false; !isWhole; write++ {
		isWhole = play(editKill{write, false})
		play(editKill{write, true})
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		run, arguments, _ := strings.Cut(rest, " ")
		if kind != wroteCall || arguments != editedArguments {
			t.Errorf("a call was made as %q", line)
		}
		calls[run]++
	}
	for run, n := range calls {
		if n > 2 { // once more if the process died before its result was stored
			t.Errorf("%s paid %d times", run, n)
		}
	}
	if kills < 6 {
		t.Errorf("%d kills: the run has more writes", kills)
	}
	t.Logf("%d kills, %d runs", kills, len(calls))
}
