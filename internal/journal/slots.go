package journal

import (
	"context"
	"errors"
)

// Bounds of slots.
const (
	// MaxSlots bounds Slot.Max.
	MaxSlots = 1000
	// MaxSlotName bounds Slot.Name, in bytes.
	MaxSlotName = 2048
)

// Slot is what a run asks for that may only go on while few others of a name do.
type Slot struct {
	// Name may have any bytes, at most MaxSlotName.
	Name string
	Run  string
	// Max is how many runs of the name may have a slot when this one gets its own: 1 to MaxSlots.
	Max int
	// OnlyFree takes a slot at once, or no place in the line.
	OnlyFree bool
}

// Turn tells where a run is in the line of its name.
type Turn struct {
	// Admitted: it has a slot.
	Admitted bool
	// Busy are the runs that have slots, in the order in which they asked.
	Busy []string
	// Behind is the run directly before it that waits and goes on; "": it is the first. Before is how many such runs there are: only Turn tells that.
	Behind string
	Before int
}

// Slots let at most n runs of a name run at once: those that asked first. A slot is that of a run that has not ended, whatever becomes of its owner: it is free when the run has ended or is pruned. A
// run that waits and has no living owner, unless it was given up to be claimed, is passed; it keeps its place.
//
// That a run got a slot is not signalled, nor that one is free: the appends of the runs are.
type Slots interface {
	// Queue puts a run at the end of the line of its name, and gives it a slot where one is free and no run waits. Until Confirm, or the death of this handle, the run need not be in the store, or may
	// have ended: the handle vouches for it. Errors: ErrExists for a run that is in a line.
	Queue(ctx context.Context, s Slot) (Turn, error)
	// Admit gives a run a slot where one is free and no run waits before it. One that has a slot keeps it. Errors: ErrNotFound for a run that is in no line.
	Admit(ctx context.Context, run string) (Turn, error)
	// Turn tells where a run is. Errors: ErrNotFound.
	Turn(ctx context.Context, run string) (Turn, error)
	// Confirm tells that the run is stored and has not ended: the handle vouches for it no more.
	Confirm(ctx context.Context, run string) error
	// Unqueue takes a run out of its line, with its slot. One that is in none is left alone.
	Unqueue(ctx context.Context, run string) error
}

// Validate tells what no store accepts.
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
