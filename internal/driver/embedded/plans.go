package embedded

import (
	"fmt"
	"sync"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// plans keeps compiled definitions by digest, so that a thousand runs of one workflow share one plan. The zero value is ready.
type plans struct {
	mu sync.Mutex
	m  map[string]compiled
	// written are the definitions of the workflows of m, which do not change: a graph that is run again is not written again.
	written map[*workflow.Workflow]journal.Blob
}

type compiled struct {
	plan    *engine.Plan
	program driver.Program
	// deadlines: some wait of the definition has one, or a reminder.
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

// definition gives a workflow as it is stored.
func (p *plans) definition(w *workflow.Workflow) (journal.Blob, error) {
	p.mu.Lock()
	b, ok := p.written[w]
	p.mu.Unlock()
	if ok {
		return b, nil
	}
	canonical, err := w.Canonical()
	if err != nil {
		return journal.Blob{}, err
	}
	b = journal.NewBlob(canonical)
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.m[b.Hash]; ok && c.plan.Workflow() == w {
		if p.written == nil {
			p.written = map[*workflow.Workflow]journal.Blob{}
		}
		p.written[w] = b
	}
	return b, nil
}

// compile gives the plan of a definition. program is the one that it is to have, nil for the one that find gives. Of two programs of one definition the
// plan of the last stays.
func (p *plans) compile(digest string, w *workflow.Workflow, program driver.Program, find func(*workflow.Workflow) (driver.Program, error)) (compiled, error) {
	if c, ok := p.get(digest); ok && (program == nil || c.program == program) {
		return c, nil
	}
	var host engine.Host
	if program == nil && find != nil {
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
		p.drop(k)
	}
	p.drop(digest)
	p.m[digest] = c
	return c, nil
}

// forget drops the plan of a definition, whose program is another one now.
func (p *plans) forget(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(digest)
}

// drop forgets a plan. p.mu is held.
func (p *plans) drop(digest string) {
	if c, ok := p.m[digest]; ok {
		delete(p.m, digest)
		delete(p.written, c.plan.Workflow())
	}
}

func hasDeadlines(w *workflow.Workflow) bool {
	for i := range w.Nodes {
		if n := w.Nodes[i].Wait; n != nil && (n.Deadline > 0 || n.Remind > 0) {
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
