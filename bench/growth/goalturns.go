package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/service"
)

// chatServer is a model server that speaks Chat Completions: it calls the tool think, each time
// with a different thought, until it has been called turns times. It measures the time from the end
// of a response to the end of the next request.
type chatServer struct {
	turns, size int

	mu       sync.Mutex
	calls    int
	answered time.Time
	took     []float64 // in seconds
	bytes    []int64
}

// floorPath is the path at which requests are read and nothing else is done.
const floorPath = "/floor"

// ServeHTTP implements http.Handler.
func (t *chatServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil || r.URL.Path == floorPath {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls++; t.calls > 1 {
		t.took, t.bytes = append(t.took, time.Since(t.answered).Seconds()), append(t.bytes, n)
	}
	delta, reason := map[string]any{"role": "assistant", "content": "done"}, "stop"
	if t.calls <= t.turns {
		thought, err := json.Marshal(map[string]string{"thought": unique(t.calls, t.size)})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		call := map[string]any{"index": 0, "id": fmt.Sprint("call", t.calls), "type": "function",
			"function": map[string]any{"name": "think", "arguments": string(thought)}}
		delta, reason = map[string]any{"role": "assistant", "tool_calls": []any{call}}, "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{{"index": 0, "delta": delta},
		{"index": 0, "delta": map[string]any{}, "finish_reason": reason}} {
		chunk, err := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "created": 1,
			"model": "m", "choices": []any{choice}})
		if err != nil {
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
	t.answered = time.Now()
}

// turnGoal runs an agent with 500 tool turns of 20 KB over HTTP, and compares its last turns with
// the time to write as many bytes.
func turnGoal(ctx context.Context) (g goal, err error) {
	const turns, last = 500, 21
	t := &chatServer{turns: turns, size: 20 << 10}
	server := httptest.NewServer(t)
	defer server.Close()
	dir, err := os.MkdirTemp("", "hocket-growth")
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	env := map[string]string{"OPENAI_BASE_URL": server.URL + "/v1", "OPENAI_API_KEY": "test"}
	s, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: storePath(dir),
		Env: func(name string) string { return env[name] }, Adapters: providers.Adapters(nil)})
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	doc := fmt.Sprintf("agents:\n  a: {model: openai/fake, instruction: x, max_iterations: %d, toolsets: [{type: "+
		"think}]}\nworkflow:\n  - {type: agent, name: a}\n", turns+1)
	w, list, err := s.Load(ctx, "turns.yaml", []byte(doc), service.LoadOptions{})
	if err != nil || list.HasErrors() {
		return g, errors.Join(list.Err(), err)
	}
	id, err := s.Start(ctx, service.StartRequest{Workflow: w, Input: "go"})
	if err != nil {
		return g, err
	}
	st, err := s.Wait(ctx, id)
	if err != nil {
		return g, err
	}
	if st.Status != event.StatusCompleted {
		return g, fmt.Errorf("run %s is %s", id, st.Status)
	}
	if len(t.took) != turns {
		return g, fmt.Errorf("%d turns of %d were measured", len(t.took), turns)
	}
	size := t.bytes[turns-1]
	floor, err := writeTime(ctx, server, size, last)
	if err != nil {
		return g, err
	}
	took := median(t.took[turns-last:])
	return goal{
		Name:     fmt.Sprintf("agent turn over HTTP at %d turns of 20 KB, beside writing its request", turns),
		Measured: took / floor, Goal: 3,
		Floor: fmt.Sprintf("%s, and %s for %sB", seconds(took), seconds(floor), size10(float64(size))),
	}, nil
}

// writeTime returns the median time until each of n requests with a body of size bytes, sent to the
// floor path of a server, has been read.
func writeTime(ctx context.Context, server *httptest.Server, size int64, n int) (float64, error) {
	body := bytes.Repeat([]byte("x"), int(size))
	var took []float64
	for range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+floorPath, bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		began := time.Now()
		resp, err := server.Client().Do(req)
		if err != nil {
			return 0, err
		}
		if err := resp.Body.Close(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began).Seconds())
	}
	return median(took), nil
}
