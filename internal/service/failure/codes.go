package failure

import (
	"errors"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
)

// known lists the codes of errors from packages that do not know the table, in lookup order.
var known = []struct {
	code errcode.Code
	// fields reports whether an error has the code, and returns its fields.
	fields func(error) (errcode.Fields, bool)
	// inside marks errors whose text contains internal details; callers get the message of the
	// table.
	inside bool
}{
	// even if the store is not open yet
	{errcode.StoreLocked, typed(func(*journal.LockedError) errcode.Fields { return nil }), false},
	{errcode.RunExists, sentinel(journal.ErrExists), true},
	{errcode.PermissionElsewhere, typed(func(e *AllowedElsewhereError) errcode.Fields {
		return errcode.Fields{"run": e.Run}
	}), false},
	{errcode.ModelUnusable, typed(func(e *model.RefError) errcode.Fields { return errcode.Fields{"model": e.Ref} }),
		false},
	{errcode.RunForeign, typed(func(e *driver.ForeignError) errcode.Fields {
		return errcode.Fields{"run": e.Run, "graph": e.Graph}
	}), false},
	{errcode.RunPlaceGone, placementError(true), true},
	{errcode.RunUndriven, placementError(false), true},
	{errcode.InvalidAnswer, sentinel(waits.ErrAnswer), false},
	{errcode.WaitRole, sentinel(waits.ErrRole), false},
	{errcode.WaitSignal, sentinel(waits.ErrSignalWait), false},
	{errcode.SignalUnknown, sentinel(waits.ErrSignalName), false},
	{errcode.SignalRefused, sentinel(waits.ErrSignal), false},
	{errcode.SignalsFull, sentinel(waits.ErrSignalsFull), false},
	{errcode.InvalidCursor, sentinel(journal.ErrCursor), true},
	{errcode.WaitNoApproval, typed(func(e *NoApprovalError) errcode.Fields {
		return errcode.Fields{"run": e.Run, "node": e.Node}
	}), false},
	{errcode.InvalidDocument, typed(func(diag.List) errcode.Fields { return nil }), false},
	{errcode.RunNotFound, sentinel(journal.ErrNotFound), true},
	{errcode.WorkflowNotFound, sentinel(catalog.ErrNotFound), false},
	{errcode.WaitNotFound, sentinel(waits.ErrNotFound), false},
	{errcode.WaitClosed, sentinel(waits.ErrClosed), false},
	{errcode.WaitAmbiguous, sentinel(waits.ErrAmbiguous), false},
	{errcode.WaitAnswered, sentinel(waits.ErrAnswered), false},
	{errcode.RunEnded, sentinel(engine.ErrEnded), false},
	{errcode.RunOwned, typed(func(e *journal.OwnedError) errcode.Fields {
		return errcode.Fields{"run": e.Run, "owner": e.Owner.String()}
	}), false},
	{errcode.RunNotEnded, typed(func(e *NotEndedError) errcode.Fields {
		return errcode.Fields{"run": e.Run, "status": string(e.Status)}
	}), false},
	{errcode.SessionBusy, typed(func(e *journal.BusyError) errcode.Fields {
		return errcode.Fields{"session": e.Session, "run": e.Run}
	}), true},
	{errcode.RunNotReopenable, sentinel(engine.ErrNotReopenable), false},
	{errcode.RunParentBudget, sentinel(engine.ErrAbove), false},
	{errcode.DefinitionChanged, sentinel(catalog.ErrChanged), false},
	{errcode.AgentInUse, sentinel(ErrInUse), false},
	{errcode.StoreUnusable, typed(func(*StoreError) errcode.Fields { return nil }), false},
	{errcode.JournalCorrupt, typed(func(*journal.CorruptError) errcode.Fields { return nil }), false},
	{errcode.JournalNewer, typed(func(*journal.NewerError) errcode.Fields { return nil }), false},
	{errcode.JournalDiverged, typed(func(*engine.DivergenceError) errcode.Fields { return nil }), false},
	{errcode.TextNotStorable, typed(func(e *catalog.TextError) errcode.Fields {
		return errcode.Fields{"cause": e.Error()}
	}), false},
	{errcode.StoreRejected, typed(func(*journal.RejectedError) errcode.Fields { return nil }), false},
	{errcode.StoreUnavailable, sentinel(ErrUnavailable), false},
	{errcode.StoreUnavailable, sentinel(journal.ErrClosed), false},
	{errcode.StoreUnavailable, sentinel(journal.ErrUnavailable), false},
}

// placementError matches runs that wait for a process, at a specific place or, if isPlaced is
// false, anywhere.
func placementError(isPlaced bool) func(error) (errcode.Fields, bool) {
	return func(err error) (errcode.Fields, bool) {
		e, ok := errors.AsType[*driver.ElsewhereError](err)
		if !ok || (e.Place != "") != isPlaced {
			return nil, false
		}
		return errcode.Fields{"run": e.Run, "place": e.Place}, true
	}
}

func sentinel(target error) func(error) (errcode.Fields, bool) {
	return func(err error) (errcode.Fields, bool) { return nil, errors.Is(err, target) }
}

func typed[T error](fields func(T) errcode.Fields) func(error) (errcode.Fields, bool) {
	return func(err error) (errcode.Fields, bool) {
		e, ok := errors.AsType[T](err)
		if !ok {
			return nil, false
		}
		return fields(e), true
	}
}

// reason returns the code and the fields of an error; "" if it has no code.
func reason(err error) (errcode.Code, errcode.Fields) {
	if err == nil {
		return "", nil
	}
	if code, fields := errcode.Of(err); code != "" {
		return code, fields
	}
	for _, k := range known {
		if fields, ok := k.fields(err); ok {
			return k.code, fields
		}
	}
	return "", nil
}

// CodeOf returns the family of an error, which is the family of its code in the table. Every
// *InvalidError belongs to CodeInvalid, except one caused by a locked store or a run with the same
// id.
func CodeOf(err error) Code {
	if err == nil {
		return CodeInternal
	}
	for _, k := range known[:2] {
		if _, ok := k.fields(err); ok {
			return familyOf(k.code)
		}
	}
	if _, ok := errors.AsType[*InvalidError](err); ok {
		return CodeInvalid
	}
	code, _ := reason(err)
	return familyOf(code)
}

func familyOf(code errcode.Code) Code {
	if e, ok := errcode.Find(code); ok {
		return e.Family
	}
	return CodeInternal
}

// Described is an error in the form that transports use.
type Described struct {
	Family Code
	// Code is "" and Fields nil for an error that has only a family.
	Code   errcode.Code
	Fields errcode.Fields
	// Message is the message, without a hint.
	Message string
}

// Describe returns the parts of an error that transports need to format it. The message is the
// error's own text; the wrapping internal steps are left out.
func Describe(err error) Described {
	d := Described{Family: CodeOf(err), Message: err.Error()}
	d.Code, d.Fields = reason(err)
	if _, ok := errors.AsType[errcode.Coded](err); ok {
		return d
	}
	for _, k := range known {
		if k.code == d.Code && k.inside {
			d.Message = errcode.Message(d.Code, d.Fields)
		}
	}
	return d
}

// Cause returns the error of another package that a code stands for, so that errors.Is and
// errors.As work on a server's responses; nil if there is none.
func Cause(code errcode.Code) error { return causes[code] }

var causes = map[errcode.Code]error{
	errcode.WaitAmbiguous: waits.ErrAmbiguous, errcode.WaitAnswered: waits.ErrAnswered,
	errcode.WaitClosed:   waits.ErrClosed,
	errcode.WaitNotFound: waits.ErrNotFound, errcode.InvalidAnswer: waits.ErrAnswer,
	errcode.RunNotReopenable: engine.ErrNotReopenable,
	errcode.RunParentBudget:  engine.ErrAbove, errcode.RunEnded: engine.ErrEnded,
	errcode.RunNotFound: journal.ErrNotFound, errcode.AgentInUse: ErrInUse,
	errcode.WaitRole: waits.ErrRole, errcode.WaitSignal: waits.ErrSignalWait,
	errcode.SignalUnknown: waits.ErrSignalName, errcode.SignalRefused: waits.ErrSignal,
	errcode.SignalsFull: waits.ErrSignalsFull,
}
