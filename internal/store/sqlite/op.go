package sqlite

import (
	"errors"
	"sync/atomic"
)

// op is one operation of the writer. do runs inside a transaction that it shares with others. It
// returns a refusal before it has changed anything; after any other error the whole transaction is
// rolled back and the operations are tried one by one.
type op struct {
	do        func(c *conn) error
	appends   *pendingAppend // set if the operation is an append; nil for all others
	bytes     int
	outsideTx bool // runs outside any transaction: checkpoints
	state     atomic.Int32
	err       error // set before done is sent to
	panic     any   // value that do panicked with, set likewise; nil if it returned
	done      chan struct{}
}

const (
	opWaiting = iota
	opTaken
	opGivenUp
)

func newOp(bytes int, do func(c *conn) error) *op {
	return &op{do: do, bytes: bytes, done: make(chan struct{}, 1)}
}

// claim prevents the caller of o from withdrawing it. It returns false if that is too late.
func (o *op) claim() bool { return o.state.CompareAndSwap(opWaiting, opTaken) }

// errPanicked is the error of an operation that panicked. The panic continues in its caller.
var errPanicked = errors.New("the operation panicked")

// run calls do. An operation that panicked is not repeated.
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

// perform runs o inside a transaction and stores its result. It returns the error of an operation
// that cannot be run; a refusal is not an error.
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

// refusal is a regular result, not a failure: the store is unchanged, and the others in the batch
// commit.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }
