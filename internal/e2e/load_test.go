//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/service"
)

const (
	loadSteps   = 10
	loadLatency = 50 * time.Millisecond
)

// TestLoad starts many runs concurrently over HTTP while other clients watch and read, kills the
// server in the middle, and restarts it: every accepted run ends, watchers receive every event
// once, and no model call whose reply is journaled is repeated (D8, P22). HOCKET_LOAD is the number
// of runs; a fifth of that number is watched.
func TestLoad(t *testing.T) {
	runs := 100
	if v := os.Getenv("HOCKET_LOAD"); v != "" {
		var err error
		if runs, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	l := &load{home: t.TempDir(), runs: runs, calls: map[string]int{}, half: make(chan struct{})}
	l.model = modeltest.Start(t, l.answer)
	env := []string{"OPENAI_BASE_URL=" + l.model.BaseURL(), "OPENAI_API_KEY=k"}
	p := serve(t, l.home, env)
	l.url.Store(&p.url)
	l.apply(t)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	began := time.Now()
	ids := make([]string, runs)
	streams := make([]string, max(1, runs/5))
	var starts, watchers, readers sync.WaitGroup
	for i := range runs {
		starts.Go(func() { ids[i] = l.start(ctx, t, i) })
	}
	stop, stopReading := context.WithCancel(ctx)
	for range 4 {
		readers.Go(func() { l.read(stop, t) })
	}
	for i := range streams {
		watchers.Go(func() { streams[i] = l.watch(ctx, t, l.start(ctx, t, i)) })
	}

	select {
	case <-l.half:
	case <-ctx.Done():
		t.Fatalf("the load did not get half through: %d model calls", l.made.Load())
	}
	p.kill()
	before := l.made.Load()
	journaled := l.journaled(t)
	l.after.Store(true)
	p = serve(t, l.home, env)
	l.url.Store(&p.url)
	starts.Wait()
	for i, id := range ids {
		l.ended(ctx, t, i, id)
	}
	took := time.Since(began)
	watchers.Wait()
	stopReading()
	readers.Wait()

	l.mu.Lock()
	defer l.mu.Unlock()
	again := 0
	for text, n := range l.calls {
		if n > 1 {
			again++
		}
		if l.afterKill[text] > 0 && journaled[text] {
			t.Errorf("the call %q was made again although its reply was journaled (D8)", text)
		}
	}
	want := runs * loadSteps
	if len(l.calls) != want {
		t.Errorf("%d different model calls, want %d", len(l.calls), want)
	}
	for i, got := range streams {
		if got != "" {
			t.Errorf("watcher %d: %s", i, got)
		}
	}
	slices.Sort(l.reads)
	t.Logf("%d runs of %d steps in %s with a kill after %d of %d model calls (%d journaled); %d calls were in flight "+
		"and made again; %d watchers; %d reads: p50 %s, p99 %s, max %s",
		runs, loadSteps, took.Round(time.Millisecond), before, want, len(journaled), again, len(streams), len(l.reads),
		l.quantile(0.5), l.quantile(0.99), l.quantile(1))
}

// load is the state of one load test.
type load struct {
	home  string
	runs  int
	url   atomic.Pointer[string]
	model *modeltest.Server
	made  atomic.Int64
	half  chan struct{} // closed when half of the calls were made
	after atomic.Bool   // the server was killed

	mu        sync.Mutex
	calls     map[string]int // by the text sent
	afterKill map[string]int // calls after the kill
	reads     []time.Duration
}

var loadRun = regexp.MustCompile(`run \d+`)

// answer returns the run and the step, so that every call of every run has a unique text.
func (l *load) answer(r modeltest.Request) modeltest.Answer {
	if l.made.Add(1) == int64(l.runs*loadSteps/2) {
		close(l.half)
	}
	text := loadRun.FindString(r.LastText()) + " " + r.System
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[text]++
	if l.after.Load() {
		if l.afterKill == nil {
			l.afterKill = map[string]int{}
		}
		l.afterKill[text]++
	}
	return modeltest.Answer{Text: text, Latency: loadLatency}
}

// apply stores the workflow.
func (l *load) apply(t *testing.T) {
	t.Helper()
	var doc strings.Builder
	doc.WriteString("name: load\nagents:\n")
	for i := range loadSteps {
		fmt.Fprintf(&doc, "  A%d: {model: openai/load, instruction: step %[1]d}\n", i+1)
	}
	doc.WriteString("workflow:\n")
	for i := range loadSteps {
		fmt.Fprintf(&doc, "  - {type: agent, name: A%d}\n", i+1)
	}
	body, err := json.Marshal(map[string]any{"id": "load", "document": doc.String()})
	if err != nil {
		t.Fatal(err)
	}
	status, answer, err := l.do(t.Context(), http.MethodPost, "/api/v1/workflows", body)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("apply: %d %s %v", status, answer, err)
	}
}

// do sends one request.
func (l *load) do(ctx context.Context, method, path string, body []byte, header ...string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, *l.url.Load()+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}}

// insist repeats a request until it is answered, even if the server dies meanwhile.
func (l *load) insist(ctx context.Context, t *testing.T, method, path string, body []byte, header ...string) (
	int, []byte) {
	for ctx.Err() == nil {
		if status, data, err := l.do(ctx, method, path, body, header...); err == nil &&
			status != http.StatusServiceUnavailable {
			return status, data
		}
		pause(ctx)
	}
	t.Errorf("%s %s was never answered", method, path)
	return 0, nil
}

// pause keeps a client from polling a dead server continuously.
func pause(ctx context.Context) {
	tick := time.NewTimer(20 * time.Millisecond)
	defer tick.Stop()
	select {
	case <-tick.C:
	case <-ctx.Done():
	}
}

// start starts run i; calling it again has no effect.
func (l *load) start(ctx context.Context, t *testing.T, i int) string {
	body, err := json.Marshal(map[string]any{"workflow": "load", "input": fmt.Sprintf("run %d", i)})
	if err != nil {
		t.Error(err)
		return ""
	}
	status, data := l.insist(ctx, t, http.MethodPost, "/api/v1/runs", body, "Idempotency-Key",
		fmt.Sprintf("load-%d", i))
	var run struct{ ID string }
	if err := json.Unmarshal(data, &run); err != nil || status != http.StatusCreated && status != http.StatusOK {
		t.Errorf("start %d: %d %s %v", i, status, data, err)
	}
	return run.ID
}

// ended waits for the end of a run.
func (l *load) ended(ctx context.Context, t *testing.T, i int, id string) {
	for ctx.Err() == nil {
		status, data := l.insist(ctx, t, http.MethodGet, "/api/v1/runs/"+id, nil)
		var run struct{ Status, Output string }
		if err := json.Unmarshal(data, &run); err != nil || status != http.StatusOK {
			t.Errorf("run %s: %d %s %v", id, status, data, err)
			return
		}
		switch run.Status {
		case "completed":
			if want := fmt.Sprintf("run %d step %d", i, loadSteps); run.Output != want {
				t.Errorf("run %s: output %q, want %q", id, run.Output, want)
			}
			return
		case "failed", "cancelled", "paused":
			t.Errorf("run %s: %s", id, data)
			return
		}
		pause(ctx)
	}
	t.Errorf("run %s did not end", id)
}

// read requests runs and lists, and measures how long each answer takes.
func (l *load) read(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		at := time.Now()
		status, data, err := l.do(ctx, http.MethodGet, "/api/v1/runs?limit=50", nil)
		if err != nil {
			pause(ctx)
			continue
		}
		took := []time.Duration{time.Since(at)}
		var page struct{ Items []struct{ ID string } }
		if err := json.Unmarshal(data, &page); err != nil || status != http.StatusOK {
			t.Errorf("list: %d %s %v", status, data, err)
			return
		}
		if len(page.Items) > 0 {
			at = time.Now()
			if status, data, err := l.do(ctx, http.MethodGet, "/api/v1/runs/"+page.Items[len(page.Items)/2].ID,
				nil); err == nil {
				took = append(took, time.Since(at))
				if status != http.StatusOK {
					t.Errorf("read: %d %s", status, data)
				}
			}
		}
		l.mu.Lock()
		l.reads = append(l.reads, took...)
		l.mu.Unlock()
	}
}

// quantile returns a quantile of the read times.
func (l *load) quantile(q float64) time.Duration {
	if len(l.reads) == 0 {
		return 0
	}
	return l.reads[min(len(l.reads)-1, int(q*float64(len(l.reads))))].Round(100 * time.Microsecond)
}

// journaled returns the texts of the model calls whose replies are in the store. No server must be
// running.
func (l *load) journaled(t *testing.T) map[string]bool {
	t.Helper()
	s, err := service.Look(t.Context(), service.Config{Documents: linked.Kit(), DB: filepath.Join(l.home, "hocket.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	texts := map[string]bool{}
	cursor := ""
	for {
		heads, next, err := s.List(t.Context(), journal.Query{Cursor: cursor, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range heads {
			events, err := s.Events(t.Context(), h.Run, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if d, ok := e.Data.(*event.ModelReplied); ok {
					texts[d.Message.Text.String()] = true
				}
			}
		}
		if cursor = next; next == "" {
			return texts
		}
	}
}
