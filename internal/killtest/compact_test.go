package killtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// envCompact makes a child execute a run of compactDocument.
const envCompact = "HOCKET_TEST_COMPACT"

// compactDocument has an agent whose conversation is compacted every few calls, and whose prompt
// has expressions.
const compactDocument = `
inputs: {topic: {type: string}}
agents:
  a: {instruction: Think., model: openai/one, toolsets: [{type: think}], max_iterations: 60, compaction: {at: 300, ` +
	`keep: 1}}
workflow:
  - {id: first, type: set, values: {word: "about {{ $input.topic }}"}}
  - {id: s, type: agent, name: a, prompt: "Think {{ $steps.first.output.word }}."}
`

// thinker derives its reply from the number of the call, so that its replies are the same after
// each crash: a summary if one is requested, otherwise a thought, and finally the end.
type thinker struct{ d *diary }

// Call implements model.Client.
func (m thinker) Call(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	if err := m.d.write(wroteCall, q.IdempotencyKey, ""); err != nil {
		return model.Reply{}, err
	}
	n := 0
	if _, err := fmt.Sscan(q.IdempotencyKey[strings.LastIndexByte(q.IdempotencyKey, '.')+1:], &n); err != nil {
		return model.Reply{}, err
	}
	reply := model.Reply{Message: chat.Message{Role: chat.RoleAssistant}}
	switch {
	case !strings.Contains(fmt.Sprint(q.Messages), "about kills"):
		return model.Reply{}, errors.New("the task is not in the conversation")
	case strings.Contains(q.System, "Write a summary"):
		reply.Message.Text = chat.NewText("the sum of it")
	case n < 40:
		args, err := json.Marshal(map[string]string{"thought": strings.Repeat("w", 100) + fmt.Sprint(n)})
		if err != nil {
			return model.Reply{}, err
		}
		reply.Message.ToolCalls = []chat.ToolCall{{ID: fmt.Sprint("t", n), Name: "think", Arguments: args}}
	default:
		reply.Message.Text = chat.NewText("done")
	}
	return reply, nil
}

// childCompact executes a run to its end, or resumes it.
func childCompact(run string) (err error) {
	ctx := context.Background()
	d, err := openDiary(os.Getenv(envDiary), run)
	if err != nil {
		return err
	}
	s, err := service.Open(ctx, service.Config{
		Documents: linked.Kit(),
		DB:        os.Getenv(envDB),
		Env:       func(name string) string { return map[string]string{"OPENAI_API_KEY": "test"}[name] },
		Adapters: map[model.Protocol]model.Factory{model.ProtocolOpenAI: func(model.Endpoint) (model.Client, error) {
			return thinker{d}, nil
		}},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, list, err := s.Load(ctx, "compact.yaml", []byte(compactDocument), service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return errors.Join(list.Err(), err)
	}
	if _, err = s.Start(ctx, service.StartRequest{RunID: run, Workflow: w,
		Inputs: json.RawMessage(`{"topic":"kills"}`)}); errors.Is(err, journal.ErrExists) {
		err = s.Resume(ctx, run)
	}
	if err == nil {
		_, err = s.Wait(ctx, run)
	}
	return err
}

// TestKillCompaction checks X-88: a run whose process is killed does not request a stored summary
// again, does not repeat a call whose reply is stored, and compacts its conversation like a run
// that is not killed.
func TestKillCompaction(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	db, path := filepath.Join(folder, "hocket.db"), filepath.Join(folder, "diary")
	watch, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	read, again := 0, 0
	done := map[string]bool{} // calls whose replies are in the journal
	want := ""                // the compactions of the undisturbed run
	h := killtest.Harness{
		Env: func(string) []string { return []string{envDB + "=" + db, envDiary + "=" + path, envCompact + "=1"} },
		After: func(run string) bool {
			raw, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(raw[read:])) {
				if !strings.HasSuffix(line, "\n") {
					break // the child was killed while writing
				}
				read += len(line)
				if key := strings.TrimSpace(strings.TrimPrefix(line, wroteCall)); done[key] {
					again++
					t.Errorf("%s was called again though its reply was in the journal", key)
				}
			}
			events, err := watch.Events(t.Context(), run, 0)
			if errors.Is(err, journal.ErrNotFound) {
				return false
			}
			if err != nil {
				t.Fatalf("run %s: %v", run, err)
			}
			var compactions []string
			for i, e := range events {
				switch d := e.Data.(type) {
				case *event.ModelReplied:
					done[run+"/"+d.Call] = true
				case *event.AgentCompacted:
					if reply, ok := events[i-1].Data.(*event.ModelReplied); !ok || reply.Call != d.Call ||
						d.Error != nil {
						t.Errorf("run %s: event %d does not follow the reply with its summary: %+v", run, e.Seq, d)
					}
					compactions = append(compactions, fmt.Sprint(d.Call, " ", d.Before, " to ", d.After))
				case *event.RunCompleted:
					if want == "" {
						want = fmt.Sprint(compactions)
					}
					if got := fmt.Sprint(compactions); got != want || len(compactions) < 3 {
						t.Errorf("run %s: the conversation was shortened as %s, want %s", run, got, want)
					}
					return true
				case *event.RunFailed:
					t.Fatalf("run %s failed: %+v", run, d.Error)
				}
			}
			return false
		},
	}
	runs := h.Kill(t, killtest.Kills())
	t.Logf("%d runs: %d calls with replies, %d made again after them; %s", runs+1, len(done), again, want)
}
