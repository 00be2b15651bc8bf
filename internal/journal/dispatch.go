package journal

import (
	"context"
	"errors"
	"strings"
)

// Dispatch hands runs without an owner to processes that have capacity for them, and lists the
// processes.
type Dispatch interface {
	// ClaimSome makes the handle the owner of runs that can continue and have no living owner, each
	// in its next epoch, and returns their heads as [Ownership.Claim] does. It claims as many as q
	// asks for, or all there are. If several handles claim at the same time, each run goes to one
	// of them. The cost does not depend on the number of stored runs.
	//
	// A run can continue if it is active, or was released with Return. A run that was created and
	// released in one append, such as a fork, was never executed and is left alone. The errors are
	// those of an unusable store; on error, runs may have been claimed nevertheless.
	ClaimSome(ctx context.Context, q ClaimQuery) ([]Head, error)
	// Return releases a run as Release does, and records that none of its open calls has started
	// since its last append: the next claim returns it with Head.NotStarted set. Errors:
	// ErrNotFound, ErrFenced.
	Return(ctx context.Context, run string, epoch uint64) error
	// Move changes the place of a run; "" lets it continue anywhere. A run with a living owner
	// stays with it. Errors: ErrNotFound and those of [CheckPlace].
	Move(ctx context.Context, run, place string) error
	// Processes returns all living owners, each once, with Seen set, including those that currently
	// execute no run. Handles that never owned a run and never sent a heartbeat may be missing.
	Processes(ctx context.Context) ([]Owner, error)
}

// ClaimQuery selects the runs that ClaimSome claims.
type ClaimQuery struct {
	// Kind is the kind of the runs.
	Kind Kind
	// Place is the location of the handle's process: runs of this place are claimed, and runs that
	// need no place.
	Place string
	// Except are runs that must not be claimed.
	Except []string
	// Limit is the maximum number of runs to claim; 0 or less means none.
	Limit int
}

// matches reports whether q selects a run that can continue.
func (q ClaimQuery) matches(h Head) bool {
	return h.Kind == q.Kind && (h.Place == "" || h.Place == q.Place)
}

// maxPlace is the maximum length of a place name in bytes.
const maxPlace = 100

// CheckPlace returns an error if name is not a valid place name. "" means no place, which is
// allowed.
func CheckPlace(name string) error {
	isBad := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\ufffd' }
	if len(name) > maxPlace || strings.ContainsFunc(name, isBad) {
		return errors.New("the name of a place has 1 to 100 bytes, without spaces and control characters")
	}
	return nil
}
