package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
)

// errCallTimeout is the cause of a context that ended because the call's own time was over.
var errCallTimeout = errors.New("call timeout")

// Call carries out one call by c.Agent of the tool that was offered to it as c.Name.
//
// Errors: *Error (also inside another error) for whatever kept the call from being carried out; an error that wraps ctx's cause when ctx is
// done; ErrClosed. Call returns within seconds after ctx is done, even if the tool does not obey.
func (s *Set) Call(ctx context.Context, c Call) (Result, error) {
	t, err := s.table(ctx, c.Agent)
	if err != nil {
		return Result{}, err
	}
	b := t.byName[c.Name]
	if b == nil {
		return Result{}, t.unknown(c.Name)
	}
	args, problem := b.entry.schema.check(c.Arguments)
	if problem != "" {
		return Result{}, Errorf(KindInvalidArguments, c.Name, "tool %q was not called: %s", c.Name, problem)
	}
	offered := c.Name
	c.Name, c.Arguments = b.own, args

	limit := s.timeout
	if b.inst != nil {
		limit = cmp.Or(b.inst.spec.Timeout, b.inst.typ.CallTimeout, limit)
	}
	callCtx, cancel := context.WithTimeoutCause(ctx, limit, errCallTimeout)
	defer cancel()
	res, err := b.run(callCtx, c)
	switch {
	case err == nil:
		return s.bound(offered, res)
	case ctx.Err() != nil:
		return Result{}, fmt.Errorf("call tool %q: %w", offered, context.Cause(ctx))
	case errors.Is(context.Cause(callCtx), errCallTimeout):
		e := Errorf(KindTimeout, offered, "Tool %q timed out after %dms", offered, limit.Milliseconds())
		e.OutcomeUnknown, e.Err = true, err
		return Result{}, e
	}
	if known, ok := errors.AsType[*Error](err); ok {
		named := *known
		named.Tool = offered
		return Result{}, &named
	}
	if errors.Is(err, ErrClosed) {
		return Result{}, err
	}
	e := Errorf(KindFailed, offered, "tool %q failed: %w", offered, err)
	e.OutcomeUnknown = true
	return Result{}, e
}

// run calls the tool as it is now, and leaves it behind when it goes on for too long after ctx is done.
func (b *binding) run(ctx context.Context, c Call) (Result, error) {
	type outcome struct {
		res Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if r := recover(); r != nil {
				e := Errorf(KindFailed, c.Name, "tool %q panicked: %v", c.Name, r)
				e.OutcomeUnknown, e.Err = true, fmt.Errorf("%s", debug.Stack())
				o.err = e
			}
			done <- o
		}()
		t := b.entry.tool
		if b.inst != nil {
			if t, o.err = b.inst.current(ctx, b.entry); o.err != nil {
				return
			}
		}
		o.res, o.err = t.Call(ctx, c)
	}()
	select {
	case o := <-done:
		return o.res, o.err
	case <-ctx.Done():
	}
	late := time.NewTimer(abandonAfter)
	defer late.Stop()
	select {
	case o := <-done:
		return o.res, o.err
	case <-late.C:
		return Result{}, context.Cause(ctx)
	}
}

// bound makes sure that a result can be stored.
func (s *Set) bound(name string, r Result) (Result, error) {
	if n := len(r.Text) + len(r.Structured); n > s.maxBytes {
		return Result{}, Errorf(KindFailed, name, "the result of tool %q has %d bytes, more than the limit of %d; ask it for less", name, n, s.maxBytes)
	}
	r.Text = strings.ToValidUTF8(r.Text, "\uFFFD")
	return r, nil
}

// unknown says which tools there are instead.
func (t *table) unknown(name string) *Error {
	var names []string
	for _, b := range t.bindings {
		if !b.entry.blocked {
			names = append(names, b.offered)
		}
	}
	text := fmt.Sprintf("there is no tool %q", name)
	switch {
	case len(t.unsupported) > 0:
		text += "; " + strings.Join(t.unsupported, "; ")
	case len(names) == 0:
		text += "; this agent has no tools"
	}
	if len(names) > 0 {
		text += "; available tools: " + strings.Join(names, ", ")
	}
	if hint := diag.DidYouMean(name, names); hint != "" {
		text += "; " + hint
	}
	kind := KindUnknownTool
	if slices.Contains(t.missing, name) {
		kind = KindUnsupported
		text = fmt.Sprintf("tool %q is not available: nothing that this run was given offers it", name)
	}
	return &Error{Kind: kind, Tool: name, Message: text}
}
