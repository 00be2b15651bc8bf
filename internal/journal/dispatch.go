package journal

import (
	"context"
	"errors"
	"strings"
)

// Dispatch hands the runs that no process drives to processes that have room for them, and says which processes there are.
type Dispatch interface {
	// ClaimSome makes the handle the owner of some runs that can go on and have no living owner, each in its next epoch, and gives their heads as [Ownership.Claim] does. It gives
	// as many as q asks for, or all there are. Of several handles that claim at once, each run goes to one. What it costs does not depend on how many runs are stored.
	//
	// A run can go on if it is active, or was given up by Return. One that was created and given up in one append, as a fork is, was never driven: it is left alone. Errors: those of a store that cannot be used; runs may be claimed then.
	ClaimSome(ctx context.Context, q ClaimQuery) ([]Head, error)
	// Return gives up a run as Release does, and keeps that none of its open calls has begun since its last append: the next claim gives it with Head.Unbegun. Errors: ErrNotFound,
	// ErrFenced.
	Return(ctx context.Context, run string, epoch uint64) error
	// Move gives a run another place; "" lets it go on anywhere. A run with a living owner stays with it. Errors: ErrNotFound, those of [CheckPlace].
	Move(ctx context.Context, run, place string) error
	// Processes gives all living owners, each once, with Seen: also those that drive nothing now. Handles that never owned a run and never gave a sign may be missing.
	Processes(ctx context.Context) ([]Owner, error)
}

// ClaimQuery says which runs ClaimSome claims.
type ClaimQuery struct {
	// Kind is the kind of the runs.
	Kind Kind
	// Place is where the handle's process is: runs of this place are claimed, and those that need none.
	Place string
	// Except are runs that are left alone.
	Except []string
	// Limit is how many runs are claimed at most; 0 or less: none.
	Limit int
}

// takes tells whether q asks for a run that can go on.
func (q ClaimQuery) takes(h Head) bool {
	return h.Kind == q.Kind && (h.Place == "" || h.Place == q.Place)
}

// maxPlace bounds the name of a place, in bytes.
const maxPlace = 100

// CheckPlace tells why a name cannot be that of a place; nil: it can. "" is none, which is allowed.
func CheckPlace(name string) error {
	isBad := func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\ufffd' }
	if len(name) > maxPlace || strings.ContainsFunc(name, isBad) {
		return errors.New("the name of a place has 1 to 100 bytes, without spaces and control characters")
	}
	return nil
}
