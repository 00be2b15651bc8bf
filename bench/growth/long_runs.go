package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// maxLong is the maximum number of steps of a long run.
const maxLong = 1_000_000

// longDocument is a loop of an agent and a condition that ends when the agent says so.
const longDocument = `{"nodes": [{"id": "s", "type": "start"},
 {"id": "a", "type": "agent", "data": {"agentName": "A", "model": "own/m", "systemPrompt": "x", "userPrompt": ` +
	`"{{PREVIOUS_OUTPUT}}"}},
 {"id": "i", "type": "if", "data": {"conditions": [{"operator": "equal", "value": "stop"}]}}],
 "connections": [{"source": "s", "target": "a"}, {"source": "a", "target": "i"}, {"source": "i", "target": "a", ` +
	`"sourceHandle": "false"}]}`

// longAfter is how many passes the loop makes after it is resumed.
const longAfter = 500

// started is when this process started.
var started = time.Now()

// loopModel answers the first passes model calls with "again", and the last one with end. It calls
// first before the first answer.
type loopModel struct {
	passes int64
	first  func()
	end    func(ctx context.Context) (string, error)
	calls  atomic.Int64
}

// Call implements model.Client.
func (l *loopModel) Call(ctx context.Context, _ model.Request, _ func(model.Delta)) (r model.Reply, err error) {
	n, said := l.calls.Add(1), "again"
	if n == 1 {
		l.first()
	}
	if n > l.passes {
		said, err = l.end(ctx)
	}
	r.Message, r.Usage, r.Model = chat.Message{Role: chat.RoleAssistant, Text: text.Of(said)},
		&chat.Usage{InputTokens: 1, OutputTokens: 1}, "own/m"
	return r, err
}

// openLooping opens a store with the model of the loop.
func openLooping(ctx context.Context, db string, l *loopModel) (*service.Service, error) {
	return service.Open(ctx, service.Config{Documents: linked.Kit(), DB: db, Env: noEnv,
		Models: map[string]model.Client{"own": l}})
}

// childLong starts a run of the loop, and prints its id once the run has n steps. The run continues
// until the process is killed.
func childLong(ctx context.Context, number, db string, out io.Writer) (err error) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	id := service.NewRunID()
	s, err := openLooping(ctx, db, &loopModel{passes: int64(n) / 2, first: func() {},
		end: func(ctx context.Context) (string, error) {
			if err := json.NewEncoder(out).Encode(childResult{Run: id}); err != nil {
				return "", err
			}
			<-ctx.Done()
			return "", ctx.Err()
		}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	w, list, err := s.Load(ctx, "long.json", []byte(longDocument), service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return errors.Join(list.Err(), err)
	}
	most := n + 4*longAfter
	if _, err := s.Start(ctx, service.StartRequest{RunID: id, Workflow: w, Input: "go",
		Limits: workflow.Limits{MaxSteps: &most, MaxLoopIterations: most}}); err != nil {
		return err
	}
	st, err := s.Wait(ctx, id)
	return errors.Join(fmt.Errorf("the run is %s before this process was killed", st.Status), err)
}

// childResume resumes the run of a killed process. Seconds is the time from the start of this
// process to the run's next model call, which is made after the first new events are stored.
func childResume(ctx context.Context, db, run string) (res childResult, err error) {
	s, err := openLooping(ctx, db, &loopModel{
		passes: longAfter,
		first:  func() { res.Seconds = time.Since(started).Seconds() },
		end:    func(context.Context) (string, error) { return "stop", nil },
	})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Resume(ctx, run); err != nil {
		return res, err
	}
	st, err := s.Wait(ctx, run)
	if err == nil && st.Status != event.StatusCompleted {
		err = fmt.Errorf("the resumed run is %s", st.Status)
	}
	return res, err
}

// longGoals measures a run of n steps: its process is killed after these, another process resumes
// the run, and further ones show it.
func longGoals(ctx context.Context, n int) (goals []goal, err error) {
	dir, err := os.MkdirTemp("", "hocket-growth")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	run, err := killed(ctx, n, storePath(dir))
	if err != nil {
		return nil, err
	}
	res, err := start(ctx, "resume", storePath(dir), run)
	if err != nil {
		return nil, err
	}
	var c cost
	if err := c.inspect(ctx, dir, run); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("run of %d steps ", n)
	goals = []goal{{Name: what + "after kill -9: until its next call", Measured: res.Seconds, Goal: 5, Unit: "s"}}
	if res.Peak > 0 {
		goals = append(goals, goal{Name: what + "after kill -9: memory", Measured: float64(res.Peak), Goal: 300e6,
			Unit: "B"})
	}
	for _, a := range answers {
		if s, ok := c.Answers[a.name]; ok && s.Growth > 0 {
			goals = append(goals, goal{Name: what + "shown: growth of memory by " + a.name, Measured: float64(s.Growth),
				Goal: 64 << 20, Unit: "B"})
		}
	}
	return goals, nil
}

// killed kills a process whose run has n steps, and returns the id of the run.
func killed(ctx context.Context, n int, db string) (run string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var problems bytes.Buffer
	c := exec.CommandContext(ctx, self, childCommand, "long", strconv.Itoa(n), db)
	c.Stderr = &problems
	out, err := c.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := c.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	kerr := c.Process.Kill()
	_ = c.Wait() // the error reports the kill
	if err != nil {
		return "", fmt.Errorf("long run: %w: %s", err, bytes.TrimSpace(problems.Bytes()))
	}
	var res childResult
	err = errors.Join(json.Unmarshal(line, &res), kerr)
	return res.Run, err
}
