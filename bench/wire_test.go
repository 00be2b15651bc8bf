//go:build unix

package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/provider"
)

// toolServer answers model calls in all three protocols: it calls the tool look until turns calls
// have been made, then answers with a text. Of the requests it keeps only the sizes and the times
// at which they were complete.
type toolServer struct {
	turns int

	mu   sync.Mutex
	seen []request
}

type request struct {
	bytes int64
	at    time.Time
}

func (s *toolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		return
	}
	if r.URL.Path == "/floor" {
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, request{n, time.Now()})
	turn := len(s.seen)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, answerOf(r.URL.Path, turn, turn > s.turns))
}

// answerOf returns a complete stream.
func answerOf(path string, turn int, last bool) string {
	call, args := fmt.Sprintf("call_%d", turn), fmt.Sprintf(`{"n":%d}`, turn)
	quoted := strings.ReplaceAll(args, `"`, `\"`)
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		delta, finish := `{"content":"done"}`, "stop"
		if !last {
			delta, finish = fmt.Sprintf(
				`{"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":"look","arguments":"%s"}}]}`,
				call, quoted), "tool_calls"
		}
		return fmt.Sprintf(
			"data: {\"id\":\"1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,"+
				"\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", delta, finish)
	case strings.HasSuffix(path, "/messages"):
		start, delta, stop := `{"type":"text","text":""}`, `{"type":"text_delta","text":"done"}`, "end_turn"
		if !last {
			start = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"look","input":{}}`, call)
			delta, stop = fmt.Sprintf(`{"type":"input_json_delta","partial_json":"%s"}`, quoted), "tool_use"
		}
		var b strings.Builder
		for _, e := range []string{
			`{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","model":"m",` +
				`"content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":` + start + `}`,
			`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"` + stop +
				`"},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`,
		} {
			b.WriteString("data: " + e + "\n\n")
		}
		return b.String()
	default:
		part := `{"text":"done"}`
		if !last {
			part = fmt.Sprintf(`{"functionCall":{"id":%q,"name":"look","args":%s}}`, call, args)
		}
		return fmt.Sprintf(
			"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]},\"finishReason\":\"STOP\"}],"+
				"\"modelVersion\":\"m\",\"responseId\":\"1\"}\n\n", part)
	}
}

// late returns the median time between requests over the last turns, and the size of the last
// request in bytes.
func (s *toolServer) late(b *testing.B) (time.Duration, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) != s.turns+1 {
		b.Fatalf("%d requests, want %d", len(s.seen), s.turns+1)
	}
	var gaps []time.Duration
	for i := len(s.seen) - 20; i < len(s.seen); i++ {
		gaps = append(gaps, s.seen[i].at.Sub(s.seen[i-1].at))
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2], s.seen[len(s.seen)-1].bytes
}

func (s *toolServer) sent() (sum int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.seen {
		sum += r.bytes
	}
	return sum
}

// page returns a tool result of 20 KB: lines of words, some with quotes, like program output.
func page(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < 20<<10; i++ {
		fmt.Fprintf(&b, "%d.%d\tthe quick brown fox jumps over the \"lazy\" dog and <then> rests\n", n, i)
	}
	return b.String()[:20<<10]
}

// BenchmarkWire runs an agent with many tool turns with results of 20 KB over HTTP on loopback, in
// each protocol, as `hocket run` does, on SQLite. ms/turn is the median of the last 20 turns,
// floor-ms the median time to send as many bytes as the last request has and to read the response;
// cpu-ms is the processor time per turn over the whole run, including the server, and KB-alloc/turn
// the memory allocated per turn. docs/performance.md lists the results.
func BenchmarkWire(b *testing.B) {
	for _, protocol := range []string{"openai", "anthropic", "google"} {
		for _, turns := range []int{250, 500} {
			b.Run(fmt.Sprintf("%s/turns=%d", protocol, turns), func(b *testing.B) {
				for b.Loop() {
					wireRun(b, protocol, turns)
				}
			})
		}
	}
}

// TestAgentTurns_AllocationsLinear checks that twice the turns allocate only twice the memory,
// though four times as many bytes are sent.
func TestAgentTurns_AllocationsLinear(t *testing.T) {
	const turns = 24
	for _, protocol := range []string{"openai", "anthropic", "google"} {
		runAgent(t, protocol, 2, func(*toolServer, string) {}) // one-time allocations
		allocated := func(turns int) (size uint64, sent int64) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			runAgent(t, protocol, turns, func(s *toolServer, _ string) { sent = s.sent() })
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc, sent
		}
		once, sentOnce := allocated(turns)
		twice, sentTwice := allocated(2 * turns)
		if ratio := float64(twice) / float64(once); ratio > 2.2 || float64(sentTwice) < 3.5*float64(sentOnce) {
			t.Errorf("%s: %d turns allocate %d bytes, %d turns %d, %.2f times as many; %d and %d bytes were sent",
				protocol, turns, once, 2*turns, twice, ratio, sentOnce, sentTwice)
		}
	}
}

// runAgent runs the agent, then calls done with the server and its address.
func runAgent(b testing.TB, protocol string, turns int, done func(*toolServer, string)) {
	b.Helper()
	s := &toolServer{turns: turns}
	url := serve(b, s)
	env := map[string]string{
		"OPENAI_API_KEY": "k-1", "OPENAI_BASE_URL": url + "/v1", "ANTHROPIC_API_KEY": "k-1", "ANTHROPIC_BASE_URL": url,
		"GOOGLE_API_KEY": "k-1", "GOOGLE_GEMINI_BASE_URL": url,
	}
	e, err := hocket.Open(b.Context(), hocket.Config{DB: filepath.Join(b.TempDir(), "s.db"),
		Env: func(name string) string { return env[name] }}, documents.All(), provider.All(),
		hocket.WithTool("look", "Looks a page up.", func(_ context.Context, in struct {
			N int `json:"n"`
		}) (string, error) {
			return page(in.N), nil
		}, hocket.ToolOptions{Idempotent: true}))
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("w.yaml",
		fmt.Appendf(nil, "agents:\n  a: {model: %s/m, instruction: Look up., max_iterations: %d, tools: "+
			"[look]}\nworkflow:\n  steps: [{id: s, type: agent, name: a}]\n", protocol, turns+1))
	if err != nil {
		b.Fatal(err)
	}
	r, err := e.Run(b.Context(), w, hocket.StartOptions{Input: "go"})
	if err != nil || r.Text() != "done" {
		b.Fatalf("%v, %v", r, err)
	}
	done(s, url)
}

func wireRun(b *testing.B, protocol string, turns int) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, peak := cpuTime(b), watchHeap()
	runAgent(b, protocol, turns, func(s *toolServer, url string) {
		used := cpuTime(b) - cpu
		heap := peak()
		runtime.ReadMemStats(&after)
		late, size := s.late(b)
		floor := writeFloor(b, url, size)
		b.ReportMetric(float64(late.Microseconds())/1e3, "ms/turn")
		b.ReportMetric(float64(floor.Microseconds())/1e3, "floor-ms")
		b.ReportMetric(float64(late)/float64(floor), "×floor")
		b.ReportMetric(float64(used.Microseconds())/1e3/float64(turns), "cpu-ms/turn")
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1024/float64(turns), "KB-alloc/turn")
		b.ReportMetric(float64(s.sent())/1e6, "MB-sent")
		b.ReportMetric(float64(heap)/1e6, "MB-heap")
	})
}

// writeFloor returns the median time of plain requests with a body of n bytes.
func writeFloor(b *testing.B, url string, n int64) time.Duration {
	body := bytes.Repeat([]byte("x"), int(n))
	var all []time.Duration
	for range 21 {
		start := time.Now()
		resp, err := http.Post(url+"/floor", "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		all = append(all, time.Since(start))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// watchHeap samples the size of the heap until the returned function is called, which returns the
// maximum.
func watchHeap() func() uint64 {
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			select {
			case <-stop:
				most <- peak
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 { close(stop); return <-most }
}
