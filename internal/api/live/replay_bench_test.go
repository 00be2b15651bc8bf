//go:build unix

package live_test

import (
	"fmt"
	"testing"

	"github.com/hocket-run/hocket/internal/api/live"
)

// BenchmarkReplay is what it costs to read a run that has ended from its first event on, at n and 2n nodes: the time of the processors for each event, the client too, on a store in a file.
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
