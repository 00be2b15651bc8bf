package program

import (
	"context"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/program"
)

// Program is a driver.Program built from a table. It is as safe for concurrent use as the table's
// functions.
type Program struct {
	table *program.Table
	calls map[string]function
	// services are the services offered to node functions; may be nil.
	services *program.Services
}

// function is a node function. brief means that it is in Table.Brief.
type function struct {
	call  program.Func
	brief bool
}

var (
	_ driver.Program  = (*Program)(nil)
	_ engine.Reporter = (*Program)(nil)
	_ engine.Counting = (*Program)(nil)
)

// New creates the program of a table, which must not change afterwards.
func New(t *program.Table) *Program {
	p := &Program{table: t, calls: make(map[string]function, len(t.Calls))}
	for name, call := range t.Calls {
		p.calls[name] = function{call, t.Brief[name]}
	}
	return p
}

// With returns the program with services for its node functions.
func (p *Program) With(s *program.Services) *Program { return &Program{p.table, p.calls, s} }

// Condition implements engine.Host.
func (p *Program) Condition(name string, v engine.View) (bool, error) {
	f, ok := p.table.Conditions[name]
	if !ok {
		return false, unknown(name)
	}
	return f(view(v))
}

// Value implements engine.Host.
func (p *Program) Value(name string, v engine.View) (event.Value, error) {
	f, ok := p.table.Values[name]
	if !ok {
		return nil, unknown(name)
	}
	return f(view(v))
}

// Merge implements engine.Host.
func (p *Program) Merge(name string, outputs map[string]event.Value, v engine.View) (map[string]event.Value, error) {
	f, ok := p.table.Merges[name]
	if !ok {
		return nil, unknown(name)
	}
	return f(outputs, view(v))
}

// Reduce implements engine.Host.
func (p *Program) Reduce(name string, base, mine, theirs event.Value) (event.Value, error) {
	f, ok := p.table.Reducers[name]
	if !ok {
		return nil, unknown(name)
	}
	return f(base, mine, theirs)
}

// OnError implements engine.Host.
func (p *Program) OnError(name string, failure event.Failure, cause error, v engine.View) (engine.ErrorAction, error) {
	f, ok := p.table.OnErrors[name]
	if !ok {
		return engine.ErrorAction{}, unknown(name)
	}
	a, err := f(failed(failure, cause), view(v))
	act := engine.ErrorAction{Kind: a.Kind, DelayMS: a.DelayMS, Update: a.Update, Node: a.Node}
	if a.Failure != nil {
		act.Failure = failureOf(*a.Failure)
	}
	return act, err
}

// RetryOn implements engine.Host.
func (p *Program) RetryOn(name string, failure event.Failure, cause error) (bool, error) {
	f, ok := p.table.RetryOns[name]
	if !ok {
		return false, unknown(name)
	}
	return f(failed(failure, cause))
}

// Report implements engine.Reporter.
func (p *Program) Report(run string, f event.Failure, at time.Time) *event.SignalRaised {
	if p.table.Report == nil {
		return nil
	}
	s := p.table.Report(run, failed(f, nil), at)
	if s == nil {
		return nil
	}
	return &event.SignalRaised{Signal: s.Name, Message: s.Message, Data: s.Data}
}

// Counter implements engine.Counting.
func (p *Program) Counter(name string) (engine.Counter, bool) {
	c, ok := p.table.Counters[name]
	return engine.Counter(c), ok
}

// Call implements driver.Program. A panic fails the attempt, even in a sub-step.
func (p *Program) Call(ctx context.Context, run string, c *engine.CallFunc, by driver.Caller) (out engine.FuncResult) {
	f, ok := p.calls[c.Func]
	if !ok {
		return engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc, Message: unknown(c.Func).Error()}}
	}
	defer func() {
		if v := recover(); v != nil {
			out = engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc,
				Message: fmt.Sprintf("function %q panicked: %v", c.Func, v)}}
		}
	}()
	n := &notes{ctx: ctx, id: c.ID, before: c.Notes, by: by, work: program.Work{Key: c.Key, Attempt: c.Attempt,
		Services: p.services}}
	outputs, state := &c.Outputs, &c.State
	if !f.brief { // the function may keep its view, but nothing of c
		sees := &struct {
			outputs engine.Outputs
			state   typed.State
		}{c.Outputs, c.State}
		outputs, state = &sees.outputs, &sees.state
	}
	call := program.Call{
		Caller: n, Services: p.services, Run: run, Node: c.Node, Step: c.Step, Attempt: c.Attempt, Key: c.Key,
		Input: c.Input, State: state, Outputs: outputs,
		Errors: attempts(c.Errors), Updated: c.Updated,
	}
	if c.Last != nil {
		last := failed(*c.Last, nil)
		call.Last, call.LastOutput = &last, c.LastOutput
	}
	r := f.call(ctx, call)
	if failure := n.panicked(); failure != nil {
		return engine.FuncResult{Failure: failure}
	}
	if r.Failure != nil {
		return engine.FuncResult{Failure: failureOf(*r.Failure), Cause: r.Failure.Err, Output: r.Output}
	}
	out = engine.FuncResult{Update: r.Update, Native: r.Native, Output: r.Output, Goto: r.Goto}
	for _, t := range r.Grown {
		out.Grown = append(out.Grown, state.Grown(t.Field, t.Text))
	}
	for _, s := range r.Signals {
		out.Signals = append(out.Signals, event.SignalRaised{Signal: s.Name, Message: s.Message, Data: s.Data,
			Event: s.Event, At: s.At})
	}
	return out
}

func unknown(name string) error { return fmt.Errorf("the program has no function %q", name) }

func view(v engine.View) program.View {
	return program.View{
		Node: v.Node, Input: v.Input, State: &v.State, Outputs: v.Outputs, Run: v.Run, Attempt: v.Attempt,
		Errors: attempts(v.Errors), Updated: v.Updated,
	}
}

func attempts(list []engine.FailedAttempt) []program.FailedAttempt {
	if len(list) == 0 {
		return nil
	}
	out := make([]program.FailedAttempt, len(list))
	for i, a := range list {
		out[i] = program.FailedAttempt(a)
	}
	return out
}

func failed(f event.Failure, cause error) program.Failure {
	return program.Failure{Code: f.Code, Message: f.Message, Node: f.Node, Retryable: f.Retryable, Stack: f.Stack,
		Problems: f.Problems, Err: cause}
}

func failureOf(f program.Failure) *event.Failure {
	if f.Code == "" {
		f.Code = event.CodeFunc
	}
	return &event.Failure{Code: f.Code, Message: f.Message, Node: f.Node, Retryable: f.Retryable, Stack: f.Stack,
		Problems: f.Problems}
}
