package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// BenchmarkTakeover kills one of two servers with SIGKILL while 20 of its runs wait for their
// models. It reports how long the other server takes to make the next call of the first run and of
// the last.
func BenchmarkTakeover(b *testing.B) {
	const runs = 20
	arrived, release := make(chan time.Time, 10*runs), make(chan struct{}, 10*runs)
	models := modeltest.Start(b, func(r modeltest.Request) modeltest.Answer {
		arrived <- time.Now()
		select {
		case <-release:
		case <-r.Context.Done():
		}
		return modeltest.Answer{Text: "ok"}
	})
	db := pgtest.URL(b)
	killed, other := serve(b, db, models.BaseURL()), serve(b, db, models.BaseURL())
	killed.do(b, "POST", "/api/v1/workflows", document("one", 1))
	var first, last []time.Duration
	for b.Loop() {
		var ids []string
		for i := range runs {
			ids = append(ids, killed.start(b, "one", fmt.Sprint(i)))
		}
		for range runs {
			<-arrived
		}
		at := time.Now()
		killed.kill()
		var each []time.Duration
		for range runs {
			each = append(each, (<-arrived).Sub(at))
		}
		first, last = append(first, each[0]), append(last, each[runs-1])
		for range runs {
			release <- struct{}{}
		}
		for _, id := range ids {
			other.ended(b, id)
		}
		killed, other = other, serve(b, db, models.BaseURL())
	}
	b.ReportMetric(median(first).Seconds(), "first-call-s")
	atMost(b, "last-call-s", median(last).Seconds(), 1)
}

// document returns the request body that stores a chain of calls.
func document(id string, steps int) string {
	text, err := json.Marshal(map[string]string{"id": id, "document": chain(steps)})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// start starts a run of a stored workflow and returns its id.
func (p *process) start(b *testing.B, workflow, input string) string {
	b.Helper()
	var run struct{ ID string }
	answer := p.do(b, "POST", "/api/v1/runs", fmt.Sprintf(`{"workflow": %q, "input": %q}`, workflow, input))
	if err := json.Unmarshal([]byte(answer), &run); err != nil || run.ID == "" {
		b.Fatalf("%s: %v", answer, err)
	}
	return run.ID
}

// ended waits until a run is completed.
func (p *process) ended(b *testing.B, run string) {
	b.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		answer := p.do(b, "GET", "/api/v1/runs/"+run, "")
		if strings.Contains(answer, `"status":"completed"`) {
			return
		}
		if time.Now().After(end) || strings.Contains(answer, `"status":"failed"`) {
			b.Fatalf("the run does not complete: %s", answer)
		}
	}
}
