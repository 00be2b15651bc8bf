package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// Fault is the outcome of one write.
type Fault int

const (
	// FaultNone means that the write succeeds.
	FaultNone Fault = iota
	// FaultError means that nothing is written and the write fails; a later write may succeed.
	FaultError
	// FaultSilent means that everything is written but the write reports an error.
	FaultSilent
	// FaultDieBefore means that the process dies before the write takes effect.
	FaultDieBefore
	// FaultDieAfter means that the process dies after the write takes effect.
	FaultDieAfter
	// FaultFence means that all other processes consider this process dead, without it knowing.
	FaultFence
)

// ErrDisk is the error of a write that fails because of a fault.
var ErrDisk = errors.New("disk error (simulated)")

// Disk is a store whose writes fail as configured. A write is an Append, a Claim or a Release. Disk
// is safe for concurrent use.
type Disk struct {
	journal.Backend
	// reads answers reads after the process was fenced.
	reads journal.Backend
	fault func(op string, n int) Fault
	died  func()

	mu           sync.Mutex
	n            int
	dead         bool
	fenced       bool
	mute         bool
	unresponsive bool
}

// NewDisk returns a disk on b, this process's own handle. reads is a handle that outlives it. fault
// returns the outcome of write n, counted from 1; nil means no faults. died, which may be nil, is
// called once when the process dies.
func NewDisk(b, reads journal.Backend, fault func(op string, n int) Fault, died func()) *Disk {
	return &Disk{Backend: b, reads: reads, fault: fault, died: died}
}

// Kill makes the process die now: it can no longer read or write, and others may claim its runs.
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

// Fence makes all other processes consider this process dead.
func (d *Disk) Fence() {
	d.mu.Lock()
	was := d.fenced
	d.fenced = true
	d.mu.Unlock()
	if !was {
		d.Close()
	}
}

// Writes returns the number of writes so far.
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

// reader returns the handle that answers reads.
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

// Mute suppresses the process's heartbeats to the store, as if the process were stopped, until it
// is called with false. Everything else continues.
func (d *Disk) Mute(mute bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mute = mute
}

// Sign implements journal.Ownership. It does not count as a write, because its timing depends on
// the clock alone.
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

// Deafen suppresses requests to the process: it receives none, as if it died before it could take
// one.
func (d *Disk) Deafen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unresponsive = true
}

// Take implements journal.Inbox.
func (d *Disk) Take(ctx context.Context) ([]journal.Request, error) {
	d.mu.Lock()
	dead, unresponsive := d.dead, d.unresponsive
	d.mu.Unlock()
	switch {
	case dead:
		return nil, journal.ErrClosed
	case unresponsive:
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

// Overtaken reports whether others may own the process's runs, because it is dead or considered
// dead.
func (d *Disk) Overtaken() bool {
	dead, fenced := d.state()
	return dead || fenced
}

// Fenced reports whether the process is considered dead.
func (d *Disk) Fenced() bool {
	_, fenced := d.state()
	return fenced
}

// Each implements journal.Log.
func (d *Disk) Each(ctx context.Context, run string, after uint64, take func(journal.Record) error) error {
	b, err := d.reader()
	if err != nil {
		return err
	}
	return b.Each(ctx, run, after, take)
}

// Part implements journal.Log.
func (d *Disk) Part(ctx context.Context, hash string, offset int64, n int) ([]byte, int64, error) {
	b, err := d.reader()
	if err != nil {
		return nil, 0, err
	}
	return b.Part(ctx, hash, offset, n)
}
