package conformance_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/service"
)

func TestTwin(t *testing.T) {
	t.Parallel()
	ran := 0
	stat := map[string]int{}
	for seed := range uint64(5000) {
		g := &author{r: rand.New(rand.NewPCG(seed, 7)), later: map[*item]bool{}}
		l := g.list(0, nil, nil, false)
		doc := steps("x", "  max_loop_iterations: 3\n  steps:\n"+write(l, "  "))
		wf, problems := read(t, doc)
		if problems.HasErrors() {
			stat["refused"]++
			continue
		}
		m := &twin{seed: seed, max: 3, headers: map[*item]bool{}, count: map[*item]int{}}
		m.marks(l)
		_, err := m.list(l, &place{loops: map[*item]int{}})
		if errors.Is(err, errLong) {
			continue
		}
		ran++
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.invents = func(node string, n int) string { return reply(seed, node, n) }
			id, serr := w.Start(t.Context(), service.StartRequest{Workflow: wf, Input: "go"})
			if serr != nil {
				t.Errorf("seed %d: %v\n%s", seed, serr, doc)
				return
			}
			r := &run{w, id}
			r.rest()
			o := r.show()
			code := "completed"
			if o.Error != nil {
				code = o.Error.Code
			}
			stat[code]++
			want := "completed"
			if err != nil {
				want = err.Error()
			}
			var got []string
			for _, q := range w.requests {
				got = append(got, q.Node+" "+q.LastText())
			}
			exp := m.calls
			if strings.Contains(doc, "parallel") {
				slices.Sort(got)
				exp = slices.Sorted(slices.Values(exp))
				if want != "completed" {
					got, exp = nil, nil
				}
			}
			if code != want || !slices.Equal(got, exp) {
				t.Errorf("seed %d: got %s want %s\n%s", seed, code, want, doc)
				same(t, "calls", got, exp)
			}
			_ = engine.StatusCompleted
		})
		if t.Failed() {
			return
		}
	}
	fmt.Println(ran, stat)
}
