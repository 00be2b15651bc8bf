package journal

import (
	"context"
	"errors"
)

// Limits of slots.
const (
	// MaxSlots is the maximum value of Slot.Max.
	MaxSlots = 1000
	// MaxSlotName is the maximum length of Slot.Name in bytes.
	MaxSlotName = 2048
)

// Slot is a request for a slot, by a run that may continue only while few other runs of the same
// name do.
type Slot struct {
	// Name may contain any bytes, at most MaxSlotName.
	Name string
	Run  string
	// Max is how many runs of this name may have a slot once this run has its own: 1 to MaxSlots.
	Max int
	// OnlyFree requests a slot only if one is free: otherwise the run does not enter the queue.
	OnlyFree bool
}

// Turn is the position of a run in the queue of its name.
type Turn struct {
	// Admitted reports whether it has a slot.
	Admitted bool
	// Busy are the runs that have slots, in the order in which they were queued.
	Busy []string
	// Behind is the run directly before it that waits and can continue; "" means that it is the
	// first. Before is the number of such runs; only Turn sets it.
	Behind string
	Before int
}

// Slots lets at most n runs of a name run at the same time: those that queued first. A slot belongs
// to a run that has not ended, whatever happens to its owner: it is free when the run has ended or
// is pruned. A waiting run without a living owner, unless it was released for claiming, is skipped;
// it keeps its position.
//
// Neither the assignment nor the release of a slot is signaled; the appends of the runs are.
type Slots interface {
	// Queue puts a run at the end of the queue of its name, and assigns it a slot if one is free
	// and no run waits. Until Confirm, or the death of this handle, the run need not be in the
	// store, or may have ended: the handle vouches for it. It returns ErrExists for a run that is
	// already in a queue.
	Queue(ctx context.Context, s Slot) (Turn, error)
	// Admit assigns a run a slot if one is free and no run waits before it. A run that has a slot
	// keeps it. It returns ErrNotFound for a run that is in no queue.
	Admit(ctx context.Context, run string) (Turn, error)
	// Turn returns the position of a run. Errors: ErrNotFound.
	Turn(ctx context.Context, run string) (Turn, error)
	// Confirm records that the run is stored and has not ended: the handle no longer vouches for
	// it.
	Confirm(ctx context.Context, run string) error
	// Unqueue removes a run from its queue, along with its slot. It has no effect on a run that is
	// in no queue.
	Unqueue(ctx context.Context, run string) error
}

// Validate returns an error if no store accepts s.
func (s Slot) Validate() error {
	switch {
	case s.Run == "" || s.Name == "":
		return errors.New("a slot has no run or no name")
	case len(s.Name) > MaxSlotName:
		return errors.New("the name of a slot is too long")
	case s.Max < 1 || s.Max > MaxSlots:
		return errors.New("a slot has no bound")
	}
	return nil
}
