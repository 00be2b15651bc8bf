//go:build unix

package e2e_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// rss returns the resident memory of the server in MiB, or 0 if the system does not report it.
func (p *process) rss() int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kib >> 10
		}
	}
	return 0
}

// size returns the number of attackers: few in `make test`, and the value of the variable in `make
// test-all`.
func size(t *testing.T, variable string, few int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestHalfSentBodies checks that clients that send most of a large body and stall, with all
// transports and with and without a token, hold no more memory than the budget (SEC17). Other
// clients are served meanwhile, and the memory is free after the attackers have left.
func TestHalfSentBodies(t *testing.T) {
	const promised, sent = 9 << 20, 9<<20 - 1000
	attackers := size(t, "HOCKET_LOAD_BODIES", 30)
	isSoak := os.Getenv("HOCKET_LOAD_BODIES") != "" // waits until the system has the memory back
	const budget = 64 << 20
	w := newWorld(t, fmt.Sprintf("server: {limits: {inFlight: %d, tokenInFlight: %d, bodyIdle: 5m}}\n", budget,
		budget/2))
	before := w.p.rss()
	body := []byte(`{"document": "` + strings.Repeat("x", sent-14))
	doors := []string{"/api/v1/runs", "/v1/chat/completions", "/mcp", "/hooks/" + strings.Repeat("a", 22),
		"/approve/" + strings.Repeat("a", 40)}
	var (
		all      sync.WaitGroup
		mu       sync.Mutex
		open     []net.Conn
		statuses = map[string]int{}
	)
	for i := range attackers {
		all.Go(func() {
			c, err := net.Dial("tcp", strings.TrimPrefix(w.p.url, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
			path := doors[i%len(doors)]
			auth := "Authorization: Bearer " + testToken + "\r\n"
			if i%10 == 9 {
				auth = ""
			}
			// A request that is rejected early fails while writing: that is the answer.
			_, err = fmt.Fprintf(c,
				"POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
				path, auth, promised)
			if err == nil {
				_, _ = c.Write(body)
			}
			answer := make([]byte, 12)
			_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
			status := "stalls"
			if n, err := c.Read(answer); err == nil && n == len(answer) {
				status = string(answer[9:])
			} else if err != nil && !os.IsTimeout(err) {
				status = "closed"
			}
			mu.Lock()
			statuses[status]++
			mu.Unlock()
		})
	}
	all.Wait()
	during := w.p.rss()
	w.do("GET", "/api/v1/runs", "").is(http.StatusOK)
	held := w.inFlight()
	if held > budget {
		t.Errorf("%d bytes are in flight, the budget is %d", held, budget)
	}
	for _, c := range open {
		_ = c.Close()
	}
	for end := time.Now().Add(time.Minute); w.inFlight() != 0; {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are in flight a minute after all have left", w.inFlight())
		}
	}
	after := w.p.rss()
	for end := time.Now().Add(time.Minute); isSoak && after > before+budget>>20 &&
		time.Now().Before(end); after = w.p.rss() {
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("%d attackers with %d MiB each: memory %d MiB before, %d MiB during, %d MiB after; %d MiB were in flight "+
		"of a budget of %d; answers %v",
		attackers, sent>>20, before, during, after, held>>20, budget>>20, statuses)
	if isSoak && after > before+budget>>20 {
		t.Errorf("the server keeps %d MiB a minute after all have left", after)
	}
	if most := before + 6*budget>>20; before > 0 && during > most {
		t.Errorf("the server took %d MiB, at most %d are expected", during, most)
	}
}

// inFlight returns the number of bytes in flight from the metrics.
func (w *world) inFlight() int64 {
	w.t.Helper()
	for line := range strings.Lines(w.do("GET", "/metrics", "").is(http.StatusOK).body) {
		if rest, ok := strings.CutPrefix(line, "hocket_http_in_flight_bytes "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				w.t.Fatal(err)
			}
			return int64(n)
		}
	}
	w.t.Fatal("the metrics do not say how many bytes are in flight")
	return 0
}
