package embedded

import (
	"fmt"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// plans keeps compiled definitions by digest, so that a thousand runs of one workflow share one plan. The zero value is ready.
type plans struct {
	mu sync.Mutex
	m  map[string]compiled
}

type compiled struct {
	plan    *engine.Plan
	program driver.Program
	// deadlines: some wait of the definition has one.
	deadlines bool
}

// maxPlans bounds the cache. Running runs keep their own plan; dropping one here costs a compilation, no more.
const maxPlans = 256

func (p *plans) get(digest string) (compiled, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.m[digest]
	return c, ok
}

func (p *plans) compile(digest string, w *workflow.Workflow, find func(*workflow.Workflow) (driver.Program, error)) (compiled, error) {
	if c, ok := p.get(digest); ok {
		return c, nil
	}
	var (
		program driver.Program
		host    engine.Host
	)
	if find != nil {
		var err error
		if program, err = find(w); err != nil {
			return compiled{}, fmt.Errorf("find the program of workflow %q: %w", w.Name, err)
		}
	}
	if program != nil {
		host = program
	}
	plan, err := engine.Compile(w, host)
	if err != nil {
		return compiled{}, err
	}
	c := compiled{plan: plan, program: program, deadlines: hasDeadlines(w)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.m == nil {
		p.m = map[string]compiled{}
	}
	for k := range p.m {
		if len(p.m) < maxPlans {
			break
		}
		delete(p.m, k)
	}
	p.m[digest] = c
	return c, nil
}

func hasDeadlines(w *workflow.Workflow) bool {
	for i := range w.Nodes {
		if n := w.Nodes[i].Wait; n != nil && n.Deadline > 0 {
			return true
		}
	}
	for _, sub := range w.Flows {
		if hasDeadlines(sub) {
			return true
		}
	}
	return false
}

// withoutOwn gives what the starter of a run said of it, without the driver's own keys.
func withoutOwn(meta map[string]string) map[string]string {
	out := make(map[string]string, len(meta))
	for k, v := range meta {
		if !strings.HasPrefix(k, metaOwn) {
			out[k] = v
		}
	}
	return out
}
