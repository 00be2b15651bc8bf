package cluster

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// BenchmarkWatchElsewhere runs 1,000 runs on one server, with calls of half a second, and watches
// 50 of them on another server. It reports the delay between an event's timestamp and its arrival
// at the watcher.
func BenchmarkWatchElsewhere(b *testing.B) {
	const runs, watchers, steps = 1000, 50, 6
	models := modeltest.Start(b, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "ok", Latency: 500 * time.Millisecond}
	})
	db := pgtest.URL(b)
	driving, watching := serve(b, db, models.BaseURL()), serve(b, db, models.BaseURL())
	driving.do(b, "POST", "/api/v1/workflows", document("busy", steps))
	var p50, p95 []time.Duration
	for b.Loop() {
		ids := make([]string, runs)
		slots := make(chan struct{}, 32)
		var starts, streams sync.WaitGroup
		var mu sync.Mutex
		var delays []time.Duration
		for i := range runs {
			slots <- struct{}{}
			starts.Go(func() {
				ids[i] = driving.start(b, "busy", fmt.Sprint(i))
				<-slots
				if i%(runs/watchers) == 0 {
					streams.Go(func() {
						each := watching.watch(b, ids[i])
						mu.Lock()
						defer mu.Unlock()
						delays = append(delays, each...)
					})
				}
			})
		}
		starts.Wait()
		streams.Wait()
		for _, id := range ids {
			driving.ended(b, id)
		}
		if len(delays) < watchers*steps {
			b.Fatalf("%d events were seen", len(delays))
		}
		p50, p95 = append(p50, percentile(delays, 50)), append(p95, percentile(delays, 95))
	}
	b.ReportMetric(milliseconds(median(p50)), "delay-p50-ms")
	atMost(b, "delay-p95-ms", milliseconds(median(p95)), 100)
}

// watch reads the events of a run to its end, and returns the delays between timestamp and arrival
// of those that are newer than the stream.
func (p *process) watch(b *testing.B, run string) (delays []time.Duration) {
	addr := strings.TrimPrefix(p.url, "http://")
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer c.Close()
	began := time.Now()
	if _, err := fmt.Fprintf(c, "GET /api/v1/runs/%s/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer "+
		"%s\r\nAccept: text/event-stream\r\n\r\n", run, addr, token); err != nil {
		b.Error(err)
		return nil
	}
	lines := bufio.NewScanner(c)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "event: end") {
			return delays
		}
		_, rest, ok := strings.Cut(line, `"time":"`)
		if !ok {
			continue
		}
		text, _, _ := strings.Cut(rest, `"`)
		// Other processes on the machine may delay the request, so only events well after its start
		// are counted.
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.After(began.Add(200*time.Millisecond)) {
			delays = append(delays, time.Since(at))
		}
	}
	b.Errorf("the stream of run %s broke off: %v", run, lines.Err())
	return nil
}
