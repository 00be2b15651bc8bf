package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// slowModel answers after 50 ms, like a real model, once the gate is open.
type slowModel struct{ gate atomic.Pointer[chan struct{}] }

func (m *slowModel) Call(ctx context.Context, q model.Request, say func(model.Delta)) (model.Reply, error) {
	select {
	case <-*m.gate.Load():
	case <-ctx.Done():
		return model.Reply{}, ctx.Err()
	}
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
		return model.Reply{}, ctx.Err()
	}
	return models{}.Call(ctx, q, say)
}

// BenchmarkWatch runs workflows of 20 agent steps, whose models take 50 ms, with and without 1,000
// watchers over HTTP: on one run, and on 50. It reports the steps per second and the delay between
// storing an event and a client receiving it. Clients run in the same process, on the same two
// cores.
func BenchmarkWatch(b *testing.B) {
	const watchers, steps = 1000, 20
	for _, bc := range []struct{ runs, watchers int }{{1, 0}, {1, watchers}, {50, 0}, {50, watchers}} {
		b.Run(fmt.Sprintf("runs=%d/watchers=%d", bc.runs, bc.watchers), func(b *testing.B) {
			slow := &slowModel{}
			s, err := service.Open(b.Context(), service.Config{
				Documents: linked.Kit(),
				DB:        filepath.Join(b.TempDir(), "hocket.db"), MaxCalls: 4096,
				Models: map[string]model.Client{"own": slow},
				Env:    func(name string) string { return map[string]string{"HOCKET_MODEL": "own/m"}[name] },
			})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			h := live.New(live.Config{})
			mux := http.NewServeMux()
			mux.Handle("GET /api/v1/runs/{id}/events", h)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				who := access.Principal{Namespace: access.DefaultNamespace, Role: access.RoleRun}
				mux.ServeHTTP(w,
					r.WithContext(transport.With(r.Context(), &transport.Caller{Principal: who, Service: s})))
			}))
			defer srv.Close()
			defer h.Close()
			var all []time.Duration
			var took time.Duration
			for b.Loop() {
				delays, t := watched(b, s, slow, srv.Listener.Addr().String(), bc.runs, bc.watchers, steps)
				all, took = append(all, delays...), took+t
			}
			b.ReportMetric(float64(b.N*bc.runs*steps)/took.Seconds(), "steps/s")
			if slices.Sort(all); len(all) > 0 {
				for _, p := range []int{50, 99} {
					b.ReportMetric(all[len(all)*p/100].Seconds()*1000, fmt.Sprintf("delay-p%d-ms", p))
				}
			}
		})
	}
}

// watched executes watched runs, and returns the delays of all events at all watchers, and the
// total time.
func watched(b *testing.B, s *service.Service, slow *slowModel, addr string, runs, watchers, steps int) (
	delays []time.Duration, took time.Duration) {
	var ids []string
	w := agents(steps)
	gate := make(chan struct{})
	slow.gate.Store(&gate)
	for range runs {
		id, err := s.Start(b.Context(), service.StartRequest{Workflow: w})
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, id)
	}
	var wg sync.WaitGroup
	each := make([][]time.Duration, watchers)
	came := make(chan struct{}, watchers)
	for i := range watchers {
		wg.Go(func() { each[i] = follow(b, addr, ids[i%runs], came) })
	}
	for range watchers {
		<-came
	}
	begin := time.Now()
	close(gate)
	for _, id := range ids {
		if st, err := s.Wait(b.Context(), id); err != nil || !st.Status.Ended() {
			b.Errorf("%s %v", st.Status, err)
		}
	}
	took = time.Since(begin)
	wg.Wait()
	for i, d := range each {
		if len(d) == 0 {
			b.Errorf("watcher %d saw nothing", i)
		}
	}
	return slices.Concat(each...), took
}

// follow reads a stream to its end, and sends on came when the stream starts. Events that were
// stored before do not count.
func follow(b *testing.B, addr, run string, came chan<- struct{}) []time.Duration {
	told := sync.OnceFunc(func() { came <- struct{}{} })
	defer told()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer conn.Close()
	began := time.Now()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", live.Path(run), addr); err != nil {
		b.Error(err)
		return nil
	}
	var out []time.Duration
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "event: end") {
			return out
		}
		told()
		_, rest, ok := strings.Cut(line, `"time":"`)
		if !ok {
			continue
		}
		text, _, _ := strings.Cut(rest, `"`)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.After(began) {
			out = append(out, time.Since(at))
		}
	}
	b.Errorf("the stream of run %s broke off: %v", run, lines.Err())
	return nil
}
