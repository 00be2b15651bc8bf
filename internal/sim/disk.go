package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// Fault is what happens at one write.
type Fault int

const (
	// FaultNone: the write succeeds.
	FaultNone Fault = iota
	// FaultError: nothing is written and the write fails; a later one may succeed.
	FaultError
	// FaultSilent: all is written and the write fails nevertheless.
	FaultSilent
	// FaultDieBefore and FaultDieAfter: the process dies, the write lost or done.
	FaultDieBefore
	FaultDieAfter
	// FaultFence: all others take the process for dead, and it does not know.
	FaultFence
)

// ErrDisk is the error of a write that fails by a fault.
var ErrDisk = errors.New("disk error (simulated)")

// Disk is a store whose writes fail as told. A write is an Append, a Claim or a Release. Safe for concurrent use.
type Disk struct {
	journal.Backend
	// reads answers reads after the process was fenced.
	reads journal.Backend
	fault func(op string, n int) Fault
	died  func()

	mu     sync.Mutex
	n      int
	dead   bool
	fenced bool
	mute   bool
	deaf   bool
}

// NewDisk makes a disk on b, a handle of its own for this process. reads is a handle that outlives it. fault tells what happens at write n,
// counted from 1; nil: no faults. died, which may be nil, is called once when the process dies.
func NewDisk(b, reads journal.Backend, fault func(op string, n int) Fault, died func()) *Disk {
	return &Disk{Backend: b, reads: reads, fault: fault, died: died}
}

// Kill lets the process die now: it reads and writes nothing any more, and others may take its runs.
func (d *Disk) Kill() {
	d.mu.Lock()
	was := d.dead
	d.dead = true
	d.mu.Unlock()
	if was {
		return
	}
	d.Close()
	if d.died != nil {
		d.died()
	}
}

// Fence makes all others take the process for dead.
func (d *Disk) Fence() {
	d.mu.Lock()
	was := d.fenced
	d.fenced = true
	d.mu.Unlock()
	if !was {
		d.Close()
	}
}

// Writes is the number of writes so far.
func (d *Disk) Writes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

func (d *Disk) state() (dead, fenced bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead, d.fenced
}

func (d *Disk) write(op string, do func() error) error {
	d.mu.Lock()
	if d.dead {
		d.mu.Unlock()
		return journal.ErrClosed
	}
	d.n++
	f := FaultNone
	if d.fault != nil {
		f = d.fault(op, d.n)
	}
	d.mu.Unlock()
	switch f {
	case FaultError:
		return fmt.Errorf("%s: %w", op, ErrDisk)
	case FaultSilent:
		return errors.Join(do(), fmt.Errorf("%s: %w", op, ErrDisk))
	case FaultDieBefore:
		d.Kill()
		return journal.ErrClosed
	case FaultDieAfter:
		err := do()
		d.Kill()
		return errors.Join(err, journal.ErrClosed)
	case FaultFence:
		d.Fence()
	}
	if _, fenced := d.state(); fenced {
		return fmt.Errorf("%s: %w", op, journal.ErrFenced)
	}
	return do()
}

// reader is the handle that answers reads.
func (d *Disk) reader() (journal.Backend, error) {
	dead, fenced := d.state()
	switch {
	case dead:
		return nil, journal.ErrClosed
	case fenced:
		return d.reads, nil
	}
	return d.Backend, nil
}

// Mute keeps the process's signs of life from the store, as if it were stopped, until it is called with false. What else it does goes on.
func (d *Disk) Mute(mute bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mute = mute
}

// Sign implements journal.Ownership. It is no write that is counted: when it comes depends on the clock alone.
func (d *Disk) Sign(ctx context.Context, at time.Time) error {
	d.mu.Lock()
	mute := d.mute
	d.mu.Unlock()
	switch dead, fenced := d.state(); {
	case dead:
		return journal.ErrClosed
	case fenced, mute:
		return ErrDisk
	}
	return d.Backend.Sign(ctx, at)
}

// Deafen keeps requests from the process: it is handed none, as if it died before it takes one.
func (d *Disk) Deafen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deaf = true
}

// Take implements journal.Inbox.
func (d *Disk) Take(ctx context.Context) ([]journal.Request, error) {
	d.mu.Lock()
	dead, deaf := d.dead, d.deaf
	d.mu.Unlock()
	switch {
	case dead:
		return nil, journal.ErrClosed
	case deaf:
		return nil, nil
	}
	return d.Backend.Take(ctx)
}

// Owners implements journal.Ownership.
func (d *Disk) Owners(ctx context.Context) ([]journal.Owner, error) {
	b, err := d.reader()
	if err != nil {
		return nil, err
	}
	return b.Owners(ctx)
}

// Append implements journal.Log.
func (d *Disk) Append(ctx context.Context, a journal.Append) error {
	return d.write("append", func() error { return d.Backend.Append(ctx, a) })
}

// Claim implements journal.Ownership.
func (d *Disk) Claim(ctx context.Context, run string) (head journal.Head, err error) {
	err = d.write("claim", func() (err error) {
		head, err = d.Backend.Claim(ctx, run)
		return err
	})
	return head, err
}

// Release implements journal.Ownership.
func (d *Disk) Release(ctx context.Context, run string, epoch uint64) error {
	return d.write("release", func() error { return d.Backend.Release(ctx, run, epoch) })
}

// Read implements journal.Log.
func (d *Disk) Read(ctx context.Context, run string, after uint64) ([]journal.Record, error) {
	b, err := d.reader()
	if err != nil {
		return nil, err
	}
	return b.Read(ctx, run, after)
}

// Head implements journal.Lists.
func (d *Disk) Head(ctx context.Context, run string) (journal.Head, error) {
	b, err := d.reader()
	if err != nil {
		return journal.Head{}, err
	}
	return b.Head(ctx, run)
}

// Blob implements journal.Log.
func (d *Disk) Blob(ctx context.Context, hash string) ([]byte, error) {
	b, err := d.reader()
	if err != nil {
		return nil, err
	}
	return b.Blob(ctx, hash)
}

// List implements journal.Lists.
func (d *Disk) List(ctx context.Context, q journal.Query) ([]journal.Head, string, error) {
	b, err := d.reader()
	if err != nil {
		return nil, "", err
	}
	return b.List(ctx, q)
}

// Counts implements journal.Lists.
func (d *Disk) Counts(ctx context.Context, q journal.Query) ([]journal.Tally, error) {
	b, err := d.reader()
	if err != nil {
		return nil, err
	}
	return b.Counts(ctx, q)
}

// Post implements journal.Inbox.
func (d *Disk) Post(ctx context.Context, r journal.Request) (uint64, error) {
	b, err := d.reader()
	if err != nil {
		return 0, err
	}
	return b.Post(ctx, r)
}

// Result implements journal.Inbox.
func (d *Disk) Result(ctx context.Context, id uint64) ([]byte, bool, error) {
	b, err := d.reader()
	if err != nil {
		return nil, false, err
	}
	return b.Result(ctx, id)
}

// Alive implements journal.Ownership.
func (d *Disk) Alive(ctx context.Context, owner string) (bool, error) {
	b, err := d.reader()
	if err != nil {
		return false, err
	}
	return b.Alive(ctx, owner)
}

// Overtaken tells whether others may own the process's runs: it is dead, or taken for dead.
func (d *Disk) Overtaken() bool {
	dead, fenced := d.state()
	return dead || fenced
}

// Fenced tells whether the process is taken for dead.
func (d *Disk) Fenced() bool {
	_, fenced := d.state()
	return fenced
}
