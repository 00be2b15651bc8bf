package sqlite

import (
	"errors"
	"sync/atomic"
)

// op is one thing to write. do runs inside a transaction that it shares with others. It returns a refusal before it changed anything, or
// any other error after which the whole transaction is rolled back and the operations are tried one by one.
type op struct {
	do      func(c *conn) error
	appends *pendingAppend // the append that it is; nil for all else
	bytes   int
	alone   bool // outside of any transaction: checkpoints
	state   atomic.Int32
	err     error // set before done is sent to
	panic   any   // what do panicked with, set likewise; nil: it returned
	done    chan struct{}
}

const (
	opWaiting = iota
	opTaken
	opGivenUp
)

func newOp(bytes int, do func(c *conn) error) *op {
	return &op{do: do, bytes: bytes, done: make(chan struct{}, 1)}
}

// take keeps the caller of o from giving it up. It tells false where that is too late.
func (o *op) take() bool { return o.state.CompareAndSwap(opWaiting, opTaken) }

// errPanicked is the error of an operation that panicked. Its caller gets the panic.
var errPanicked = errors.New("the operation panicked")

// run calls do. One that panicked is not done again.
func (o *op) run(c *conn) (err error) {
	if o.panic != nil {
		return errPanicked
	}
	defer func() {
		if o.panic = recover(); o.panic != nil {
			err = errPanicked
		}
	}()
	return o.do(c)
}

// perform does o inside a transaction and keeps what it said. The error is that of an operation that cannot be done: a refusal is none.
func (o *op) perform(c *conn) error {
	o.err = o.run(c)
	if _, isRefusal := errors.AsType[refusal](o.err); isRefusal {
		return nil
	}
	return o.err
}

func (o *op) answer(err error) {
	if r, ok := errors.AsType[refusal](err); ok {
		err = r.error
	}
	o.err = err
	o.done <- struct{}{}
}

// refusal is an answer, not a fault: the store is as it was, and the others in the batch commit.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }
