package program

import (
	"context"
	"strconv"
	"sync"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/program"
)

var _ driver.Direct = (*Program)(nil)

// FuncNumber implements driver.Direct.
func (p *Program) FuncNumber(name string) int {
	if p.table.Direct == nil {
		return -1
	}
	return p.table.Direct.Func(name)
}

// ConditionNumber implements driver.Direct.
func (p *Program) ConditionNumber(name string) int {
	if p.table.Direct == nil {
		return -1
	}
	return p.table.Direct.Condition(name)
}

// Walk implements driver.Direct.
func (p *Program) Walk(run string, at *engine.LinePlace) (driver.Walk, driver.Gate) {
	if p.table.Direct == nil {
		return nil, nil
	}
	w := p.table.Direct.Walk(&at.State)
	if w == nil {
		return nil, nil
	}
	return &walk{Walk: w, p: p, run: run}, nil
}

// Result implements driver.Direct.
func (p *Program) Result(c *engine.CallFunc, before, after any) engine.FuncResult {
	r := p.table.Direct.Changes(&c.State, before, after)
	return resultOf(&c.State, &r)
}

// walk adapts a program.Walk.
type walk struct {
	program.Walk
	p       *Program
	run     string
	last    *caller
	callers []caller
	size    int
}

// maxCallers is the maximum number of callers that share a block of memory, since a function may
// keep its own.
const maxCallers = 16

func (w *walk) Call(ctx context.Context, by driver.Caller, step, fn int) bool {
	if len(w.callers) == 0 {
		w.size = min(max(2, 2*w.size), maxCallers)
		w.callers = make([]caller, w.size)
	}
	c := &w.callers[0]
	w.callers = w.callers[1:]
	*c = caller{ctx: ctx, by: by, walk: w, step: step}
	w.last = c
	return w.Walk.Call(ctx, c, fn)
}

func (w *walk) Result(ctx context.Context, c *engine.CallFunc) engine.FuncResult {
	w.last.mu.Lock()
	n := w.last.notes
	w.last.mu.Unlock()
	if n != nil {
		if failure := n.panicked(); failure != nil {
			return engine.FuncResult{ID: c.ID, Failure: failure}
		}
	}
	r := w.Walk.Result(ctx, &c.State)
	out := resultOf(&c.State, &r)
	out.ID = c.ID
	return out
}

func (w *walk) Count(c *engine.Counter) bool { return w.Walk.Count(program.Counter(*c)) }

func (w *walk) End() any { return w.Walk.End() }

// caller is the program.Caller of a function that is called directly. Most functions never ask for
// it, so everything in it is made on demand. It is safe for concurrent use.
type caller struct {
	ctx  context.Context
	by   driver.Caller
	walk *walk
	step int

	mu    sync.Mutex
	notes *notes
}

func (c *caller) work() program.Work {
	return program.Work{Key: c.walk.run + "/" + c.id(), Attempt: 1, Services: c.walk.p.services}
}

// id returns the id of the call of the step's function.
func (c *caller) id() string { return strconv.Itoa(c.step) + ".0.1" }

// Notes implements program.Caller.
func (c *caller) Notes() program.Notes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notes == nil {
		c.notes = &notes{ctx: c.ctx, id: c.id() + "#1", by: c.by, work: c.work()}
	}
	return c.notes.Notes()
}

// Host implements program.Caller.
func (c *caller) Host() any { return c.by }

// Work implements program.Caller.
func (c *caller) Work() program.Work { return c.work() }
