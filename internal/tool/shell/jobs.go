package shell

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/command"
)

// maxJobs is the maximum number of jobs that run concurrently, and maxKept the number of jobs that
// are remembered (SEC17).
const (
	maxJobs = 10
	maxKept = 100
	jobTime = 24 * time.Hour
)

// job is a program that keeps running between calls.
type job struct {
	id   string
	key  string
	cmd  string
	stop context.CancelFunc
	done chan struct{} // closed when the job ends

	// Outcome of the job, set before done is closed.
	out process.Outcome
	err error

	mu     sync.Mutex
	output func() process.Outcome // nil until the job runs
}

// jobs holds the jobs of one toolset. The zero value is ready to use.
type jobs struct {
	mu   sync.Mutex
	list []*job
	last int
	wg   sync.WaitGroup
}

func (j *jobs) wait() { j.wg.Wait() }

func (j *jobs) find(id string) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, one := range j.list {
		if one.id == id {
			return one
		}
	}
	return nil
}

func (j *job) over() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// state describes the state of a job.
func (j *job) state() string {
	switch {
	case !j.over():
		return "running"
	case j.err != nil:
		return "stopped"
	}
	return "ended, " + j.out.State
}

// outcome returns the output so far, or the final outcome.
func (j *job) outcome() process.Outcome {
	if j.over() {
		return j.out
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.output == nil {
		return process.Outcome{}
	}
	return j.output()
}

func startJob(_ context.Context, t *Toolset, key string, a arguments) (tool.Result, error) {
	if refused, no := t.checkAllowed(a); no {
		return refused, nil
	}
	q, err := t.request(a)
	if err != nil {
		return notRun(err), nil
	}
	q.Timeout, q.Key = jobTime, key
	t.jobs.mu.Lock()
	defer t.jobs.mu.Unlock()
	running := 0
	for _, one := range t.jobs.list {
		if key != "" && one.key == key {
			return tool.Result{Text: "started job " + one.id}, nil // the same call again
		}
		if !one.over() {
			running++
		}
	}
	if running >= maxJobs {
		return tool.Result{Text: fmt.Sprintf("%d jobs are running, which is the limit; stop one", running),
			IsError: true}, nil
	}
	t.jobs.last++
	one := &job{id: "job_" + strconv.Itoa(t.jobs.last), key: key, cmd: a.Cmd, done: make(chan struct{})}
	// The job outlives the call and ends with the toolset.
	ctx, cancel := context.WithCancel(context.Background())
	one.stop = cancel
	q.Started = func(said func() process.Outcome) {
		one.mu.Lock()
		defer one.mu.Unlock()
		one.output = said
	}
	t.jobs.wg.Add(1)
	go one.run(ctx, t.runner, q, &t.jobs.wg)
	t.jobs.list = append(t.jobs.list, one)
	for i := 0; len(t.jobs.list) > maxKept && i < len(t.jobs.list); {
		if t.jobs.list[i].over() {
			t.jobs.list = append(t.jobs.list[:i:i], t.jobs.list[i+1:]...)
		} else {
			i++
		}
	}
	return tool.Result{Text: "started job " + one.id}, nil
}

func (j *job) run(ctx context.Context, r *command.Runner, q command.Request, wg *sync.WaitGroup) {
	defer wg.Done()
	defer j.stop()
	j.out, j.err = r.Outcome(ctx, q)
	close(j.done)
}

func listJobs(_ context.Context, t *Toolset, _ string, _ arguments) (tool.Result, error) {
	t.jobs.mu.Lock()
	defer t.jobs.mu.Unlock()
	var b strings.Builder
	for _, one := range t.jobs.list {
		fmt.Fprintf(&b, "%s: %s: %s\n", one.id, one.state(), one.cmd)
	}
	if b.Len() == 0 {
		return tool.Result{Text: "[no jobs]"}, nil
	}
	return tool.Result{Text: b.String()}, nil
}

func viewJob(_ context.Context, t *Toolset, _ string, a arguments) (tool.Result, error) {
	one := t.jobs.find(a.JobID)
	if one == nil {
		return noJob(a.JobID), nil
	}
	return one.told(t), nil
}

func (j *job) told(t *Toolset) tool.Result {
	state := j.state()
	r := t.runner.Result(j.outcome(), state)
	if j.over() && j.err != nil && j.out.State == "" {
		r.Text += "\n[it was not started: " + j.err.Error() + "]"
	}
	r.Structured, r.IsError = nil, false
	return r
}

func stopJob(ctx context.Context, t *Toolset, _ string, a arguments) (tool.Result, error) {
	one := t.jobs.find(a.JobID)
	if one == nil {
		return noJob(a.JobID), nil
	}
	one.stop()
	select {
	case <-one.done:
		return one.told(t), nil
	case <-ctx.Done():
		return tool.Result{}, context.Cause(ctx)
	}
}

func noJob(id string) tool.Result {
	return tool.Result{Text: fmt.Sprintf("job %q not found", id), IsError: true}
}
