package held

import (
	"context"
	"fmt"
	"sync"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Plans caches compiled definitions by digest, so that a thousand runs of one workflow share one
// plan. The zero value is ready for use.
type Plans struct {
	// Expressions compiles the expressions of documents; nil means that there are none.
	Expressions expr.Compiler

	mu sync.Mutex
	m  map[string]Compiled
	// written holds the definitions of the workflows of m, which do not change: a graph that runs
	// again is not encoded again.
	written map[*workflow.Workflow]journal.Blob
}

// Compiled is a definition that is ready to run.
type Compiled struct {
	Plan *engine.Plan
	// Program has the functions of a Go graph; it is nil for documents, and if the functions belong
	// to another program.
	Program driver.Program
	// Deadlines means that a wait of the definition has a deadline or a reminder, or that a step
	// has a timeout.
	Deadlines bool
	// Line is the part of the plan that needs no events; nil if there is none.
	Line *Line
}

// maxPlans is the maximum size of the cache. Active runs keep their own plan; dropping a plan here
// costs only a compilation.
const maxPlans = 256

// Load returns the compiled definition with the given digest from a store. find is as in Compile. A
// missing or invalid definition counts as damage; one that cannot be compiled is an internal error,
// because it compiled before.
func (p *Plans) Load(ctx context.Context, blobs driver.Blobs, digest string,
	find func(*workflow.Workflow) (driver.Program, error)) (Compiled, error) {
	if c, ok := p.get(digest); ok {
		return c, nil
	}
	w, err := driver.ReadDefinition(ctx, blobs, digest)
	if err != nil {
		return Compiled{}, err
	}
	c, err := p.Compile(digest, w, nil, find)
	if err != nil {
		return Compiled{}, &DefectError{err}
	}
	return c, nil
}

func (p *Plans) get(digest string) (Compiled, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.m[digest]
	return c, ok
}

// Definition returns a workflow in its stored form.
func (p *Plans) Definition(w *workflow.Workflow) (journal.Blob, error) {
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
	if c, ok := p.m[b.Hash]; ok && c.Plan.Workflow() == w {
		if p.written == nil {
			p.written = map[*workflow.Workflow]journal.Blob{}
		}
		p.written[w] = b
	}
	return b, nil
}

// Compile returns the plan of a definition. program is the program to use; if nil, it is the one
// that find returns. If a definition is compiled with two programs, the plan of the last one is
// kept.
func (p *Plans) Compile(digest string, w *workflow.Workflow, program driver.Program,
	find func(*workflow.Workflow) (driver.Program, error)) (Compiled, error) {
	if c, ok := p.get(digest); ok && (program == nil || c.Program == program) {
		return c, nil
	}
	var host engine.Host
	if program == nil && find != nil {
		var err error
		if program, err = find(w); err != nil {
			return Compiled{}, fmt.Errorf("find the program of workflow %q: %w", w.Name, err)
		}
	}
	if program != nil {
		host = program
	}
	plan, err := engine.Compile(w, host, p.Expressions)
	if err != nil {
		return Compiled{}, err
	}
	c := Compiled{Plan: plan, Program: program, Deadlines: hasDeadlines(w), Line: newLine(plan, program)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.m == nil {
		p.m = map[string]Compiled{}
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

// Forget drops the plan of a definition whose program has changed.
func (p *Plans) Forget(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(digest)
}

// drop removes a plan. p.mu must be held.
func (p *Plans) drop(digest string) {
	if c, ok := p.m[digest]; ok {
		delete(p.m, digest)
		delete(p.written, c.Plan.Workflow())
	}
}

func hasDeadlines(w *workflow.Workflow) bool {
	for i := range w.Nodes {
		if n := w.Nodes[i].Wait; w.Nodes[i].Timeout > 0 || n != nil && (n.Deadline > 0 || n.Remind > 0) {
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
