//go:build unix

package live_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/live"
)

// BenchmarkFeed measures the cost of the feed with n and 2n streams and n and 2n runs: the CPU time
// of the process per run, including its clients, on a file store.
//
//	go test ./internal/api/live -run - -bench Feed -benchtime 1x
func BenchmarkFeed(b *testing.B) {
	for _, streams := range []int{0, 8, 16, 32} {
		for _, runs := range []int{100, 200} {
			b.Run(fmt.Sprintf("streams=%d/runs=%d", streams, runs), func(b *testing.B) {
				benchmarkFeed(b, streams, runs)
			})
		}
	}
}

func benchmarkFeed(b *testing.B, streams, runs int) {
	for b.Loop() {
		b.StopTimer()
		s := open(b, onDisk(b), plain)
		at, h := serveFeed(b, s, live.Config{})
		var all []*stream
		for range streams {
			st := connect(b, at, "")
			if m, ok := st.next(); !ok || m.kind != live.TypeReady {
				b.Fatalf("%+v", m)
			}
			all = append(all, st)
		}
		b.StartTimer()
		began := processorTime(b)
		var done sync.WaitGroup
		for _, st := range all {
			done.Go(func() {
				for ended := 0; ended < runs; {
					m, ok := st.next()
					if !ok {
						b.Error("the feed ended")
						return
					}
					if m.kind == "run.completed" {
						ended++
					}
				}
			})
		}
		for range runs {
			finished(b, s, chain(1))
		}
		done.Wait()
		b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(runs), "cpu-µs/run")
		for _, st := range all {
			st.cut()
		}
		b.StopTimer()
		h.Close()
		b.StartTimer()
	}
}

// processorTime returns the CPU time used by the process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkReplay measures the cost of reading a finished run from its first event, at n and 2n
// nodes: the CPU time per event, including the client, on a file store.
//
//	go test ./internal/api/live -run - -bench Replay -benchtime 5x
func BenchmarkReplay(b *testing.B) {
	for _, nodes := range []int{1000, 2000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			s := open(b, onDisk(b), plain)
			run := finished(b, s, chain(nodes))
			srv, _ := serve(b, s, live.Config{})
			began, events := processorTime(b), 0
			for b.Loop() {
				events += len(connect(b, srv.URL+"/api/v1/runs/"+run+"/events?expand=true", "").rest())
			}
			b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(events), "cpu-µs/event")
		})
	}
}
