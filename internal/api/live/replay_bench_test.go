//go:build unix

package live_test

import (
	"fmt"
	"testing"

	"github.com/hocket-run/hocket/internal/api/live"
)

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
