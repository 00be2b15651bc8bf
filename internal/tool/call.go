package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/permit"
)

// errCallTimeout is the cause of a context that ended because the call's own timeout expired.
var errCallTimeout = errors.New("call timeout")

// Call runs one call by c.Agent of the tool that was offered to it as c.Name. The tool gets the
// arguments in canonical form. A call that the permissions forbid is not made; its Result says so,
// for the model to read. A call that delegates, or is only checked, is not made by the Set:
// Result.Permitted says that it may be.
//
// Errors: *HoldError if a person must decide first, and nothing was called: the permissions ask,
// the tool asks, or its definition is not the one that this run pinned (SEC12, SEC14). *Error (also
// wrapped in another error) for whatever kept the call from being carried out; an error that wraps
// the cause of ctx if ctx is done; ErrClosed. Call returns within seconds after ctx is done, even
// if the tool ignores ctx.
func (s *Set) Call(ctx context.Context, c Call) (Result, error) {
	if c.Delegates {
		return s.delegate(c)
	}
	t, err := s.table(ctx, c.Agent)
	if err != nil {
		return Result{}, err
	}
	b := t.byName[c.Name]
	if b == nil {
		return Result{}, t.unknown(c)
	}
	_, sch := b.entry.definition()
	args, problem := sch.check(c.Arguments)
	if problem != "" {
		return Result{}, badArguments(c.Name, problem)
	}
	c.Arguments = Canonical(args)
	if s.atLeast(b, c) == permit.Deny {
		return forbidden(c.Name), nil
	}
	offered := c.Name

	limit := s.timeout
	if b.inst != nil {
		limit = cmp.Or(b.inst.spec.Timeout, b.inst.typ.CallTimeout, limit)
	}
	callCtx, cancel := context.WithTimeoutCause(ctx, limit, errCallTimeout)
	defer cancel()
	res, err := s.run(callCtx, b, c)
	var hold *HoldError
	switch {
	case err == nil:
		return s.limitResult(offered, res)
	case errors.As(err, &hold):
		return Result{}, hold
	case ctx.Err() != nil:
		return Result{}, fmt.Errorf("call tool %q: %w", offered, context.Cause(ctx))
	case errors.Is(context.Cause(callCtx), errCallTimeout):
		e := Errorf(KindTimeout, offered, "Tool %q timed out after %dms", offered, limit.Milliseconds())
		e.OutcomeUnknown, e.Err = true, err
		return Result{}, e
	}
	if known, ok := errors.AsType[*Error](err); ok {
		renamed := *known
		renamed.Tool = offered
		return Result{}, &renamed
	}
	if errors.Is(err, ErrClosed) {
		return Result{}, err
	}
	e := Errorf(KindFailed, offered, "tool %q failed: %w", offered, err)
	e.OutcomeUnknown = true
	return Result{}, e
}

// delegation returns the permission decision for a call that passes work to another agent. Such
// calls belong to no toolset.
func (s *Set) delegation(c Call) permit.Decision {
	decide := func(name string, arguments json.RawMessage) permit.Decision {
		d, _ := s.policyFor(c).Decide(permit.Call{Own: name, Offered: name, Arguments: Canonical(arguments),
			Delegates: true})
		return d
	}
	d := decide(c.Name, c.Arguments)
	if c.OtherName != "" {
		d = max(d, decide(c.OtherName, c.OtherArguments))
	}
	return d
}

// delegate decides whether a call that passes work to another agent may be made.
func (s *Set) delegate(c Call) (Result, error) {
	c.Arguments = Canonical(c.Arguments)
	binding := Binding(c, "", "")
	switch d := s.delegation(c); {
	case d == permit.Deny:
		return forbidden(c.Name), nil
	case d == permit.Ask && c.Approved != binding:
		return Result{}, &HoldError{Hold{Kind: HoldApproval, Prompt: approval(c, "", ""), Arguments: c.Arguments,
			Binding: binding}}
	}
	return permitted(), nil
}

// permitted returns the result of a call that may be made and that the Set has not made.
func permitted() Result {
	return Result{Text: "The permissions of this run allow the call.", Permitted: true}
}

// forbidden returns the result that tells the model that a call was not made.
func forbidden(name string) Result {
	return Result{Text: fmt.Sprintf("The call of %q was not made: the permissions of this run forbid it.", name),
		IsError: true}
}

func badArguments(name, problem string) *Error {
	return Errorf(KindInvalidArguments, name, "tool %q was not called: %s", name, problem)
}

// run calls the tool in its current version, and abandons it if it runs for too long after ctx is
// done.
func (s *Set) run(ctx context.Context, b *binding, c Call) (Result, error) {
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
		o.res, o.err = s.attempt(ctx, b, c)
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

// attempt calls the tool if this very call may be made, with its current definition.
func (s *Set) attempt(ctx context.Context, b *binding, c Call) (Result, error) {
	t := b.entry.tool
	pin, _ := b.entry.definition()
	now := pin
	var saysBefore, says Pin
	if b.inst != nil {
		var err error
		if t, now, saysBefore, says, err = b.inst.current(ctx, b.entry); err != nil {
			return Result{}, err
		}
	}
	c, resources, err := s.within(ctx, b, t, c)
	if err != nil {
		return Result{}, err
	}
	decision := s.decide(b, c, resources)
	if decision == permit.Deny {
		return forbidden(c.Name), nil
	}
	isOther, saysOther := now.Hash != pin.Hash, says.Hash != saysBefore.Hash
	changed := isOther || saysOther
	binding := Binding(c, b.toolset(), now.Hash+says.Hash)
	edited := c.Held != nil && c.Approved != binding
	if edited && !changed && s.approvedAs(ctx, b, t, c, resources, now.Hash+says.Hash) {
		edited, decision = false, permit.Allow
	}
	if (changed || edited || decision == permit.Ask) && c.Approved != binding {
		why := leadsTo(c.Arguments, resources)
		if rule, allow := s.policyFor(c).Unsure(b.permitCall(c, resources)); rule != "" && !changed {
			if s.unattended {
				return Result{}, &Error{Kind: KindUnattended, Tool: c.Name, Message: unsure(rule, allow)}
			}
			why = strings.TrimPrefix(why+"\n"+unsure(rule, allow), "\n")
		}
		if isOther {
			why = strings.TrimPrefix(why+"\n"+describeChange(b.toolset(), pin, now), "\n")
		}
		if saysOther {
			why = strings.TrimPrefix(why+"\n"+describeInstructionsChange(b.toolset(), saysBefore, says), "\n")
		}
		h := Hold{Kind: HoldApproval, Prompt: approval(c, b.toolset(), why), Arguments: c.Arguments, Changed: changed,
			Binding: binding}
		if !changed { // otherwise the person judges the definition, and the arguments were made for the old one
			h.Schema = s.editable(b, c, resources)
		}
		return Result{}, &HoldError{h}
	}
	if c.CheckOnly {
		return permitted(), nil
	}
	if saysOther {
		s.acceptInstructions(b.inst, says)
	}
	if isOther {
		b.entry.accept(s, now)
		if _, sch := b.entry.definition(); sch.compiled != nil {
			if _, problem := sch.check(c.Arguments); problem != "" {
				return Result{}, badArguments(c.Name, problem)
			}
		}
	}
	if c.Approved != binding {
		c.Approved = "" // it was for another action
	}
	c.Name, c.Held = b.own, nil
	res, err := t.Call(ctx, c)
	if hold, ok := errors.AsType[*HoldError](err); ok {
		h := hold.Hold
		h.Binding = binding
		if h.Below == nil {
			h.Arguments = c.Arguments
		}
		return Result{}, &HoldError{h}
	}
	return res, err
}

// unsure says why a call is asked about that no rule names.
func unsure(rule string, allow []string) string {
	quoted := make([]string, len(allow))
	for i, p := range allow {
		quoted[i] = strconv.Quote(p)
	}
	return fmt.Sprintf("The rule %q may apply, because this command can start others that its words do not show. To "+
		"allow it without asking, add to allow in the same permissions: %s", rule, strings.Join(quoted, ", "))
}

// limitResult makes sure that a result can be stored.
func (s *Set) limitResult(name string, r Result) (Result, error) {
	if n := len(r.Text) + len(r.Structured); n > s.maxBytes {
		return Result{}, Errorf(KindFailed, name,
			"the result of tool %q has %d bytes, more than the limit of %d; ask it for less", name, n, s.maxBytes)
	}
	r.Text = strings.ToValidUTF8(r.Text, "\uFFFD")
	return r, nil
}

// Unknown returns a message that c.Name is not a tool, and which tools exist instead: those in
// names, and the others of c.
func Unknown(c Call, names []string, unsupported ...string) string {
	text := fmt.Sprintf("unknown tool %q", c.Name)
	names = append(slices.Clone(names), c.Offered...)
	switch {
	case len(unsupported) > 0:
		text += "; " + strings.Join(unsupported, "; ")
	case len(names) == 0:
		text += "; this agent has no tools"
	}
	if len(names) > 0 {
		shown := slices.Clone(names)
		if i := slices.Index(shown, c.HandoffTool); i >= 0 && len(c.Handoffs) > 0 {
			shown[i] += fmt.Sprintf(" (hands the conversation over to %s)", strings.Join(c.Handoffs, ", "))
		}
		text += "; available tools: " + strings.Join(shown, ", ")
	}
	if slices.Contains(c.Handoffs, c.Name) && slices.Contains(c.Offered, c.HandoffTool) {
		return text + fmt.Sprintf("; to hand over to %q, call %s with it as the agent", c.Name, c.HandoffTool)
	}
	if hint := diag.DidYouMean(c.Name, names); hint != "" {
		text += "; " + hint
	}
	return text
}

// unknown returns the error of a call whose tool does not exist.
func (t *table) unknown(c Call) *Error {
	var names []string
	for _, b := range t.bindings {
		names = append(names, b.offered)
	}
	if slices.Contains(t.missing, c.Name) {
		return &Error{Kind: KindUnsupported, Tool: c.Name,
			Message: fmt.Sprintf("tool %q is not available: no toolset of this run provides it", c.Name)}
	}
	return &Error{Kind: KindUnknownTool, Tool: c.Name, Message: Unknown(c, names, t.unsupported...)}
}
