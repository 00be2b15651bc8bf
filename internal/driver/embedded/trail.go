package embedded

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// record is what a burst records of one function. last is the number of the last event that follows
// from it.
type record struct {
	engine.LineRecord
	last uint64
}

// chunk is a block of records. Records before trail.published never change.
type chunk struct {
	records []record
	next    *chunk
}

const (
	minChunk = 8
	maxChunk = 128
)

// trail holds the records of a burst. It implements journal.Trail: it makes their events when
// somebody asks for them. The burst adds records, from one goroutine; everything else is safe for
// concurrent use.
type trail struct {
	// published is twice the number of records that others may see, plus 1 once the trail is
	// stopped.
	published atomic.Uint64
	// base is the number of the last event before the trail, begin its time, from which the times of
	// records count.
	base  uint64
	begin time.Time
	first *chunk

	// For the burst alone: the chunk to add to, the number of records in it and in all.
	last  *chunk
	at    int
	count uint64

	mu sync.Mutex
	// start is the input with which the run starts, nil if it had started before; open makes the
	// expander when it is first needed.
	start *engine.Start
	open  func() *engine.Expander
	exp   *engine.Expander
	// read is the number of records whose events were made; from is the chunk of the next one and
	// index its place there.
	read  uint64
	from  *chunk
	index int
	// made are the events of the activations so far; the store has taken the first taken of them.
	made  [][]event.Event
	taken int
	err   error
}

var errStoppedTrail = errors.New("the trail was stopped")

// newTrail returns an empty trail. nodes is the number of nodes of the plan.
func newTrail(base uint64, begin time.Time, nodes int, open func() *engine.Expander) *trail {
	c := &chunk{records: make([]record, min(max(nodes+1, minChunk), maxChunk))}
	return &trail{base: base, begin: begin, first: c, last: c, from: c, open: open}
}

// add adds a record that others do not see before publish.
func (t *trail) add(r *record) {
	if t.at == len(t.last.records) {
		t.last.next = &chunk{records: make([]record, maxChunk)}
		t.last, t.at = t.last.next, 0
	}
	t.last.records[t.at] = *r
	t.at++
	t.count++
}

// publish makes the records that were added part of the run's journal. It returns false if the trail
// was stopped: then they are not.
func (t *trail) publish() bool {
	n := 2 * t.count
	return t.published.CompareAndSwap(n-2, n)
}

// Commit implements journal.Trail.
func (t *trail) Commit() error {
	if !t.publish() {
		return errStoppedTrail
	}
	return nil
}

// Stop implements journal.Trail.
func (t *trail) Stop() { t.published.Or(1) }

// Last implements journal.Trail.
func (t *trail) Last() (seq uint64, at time.Time) {
	n := t.published.Load() / 2
	if n == 0 {
		return t.base, t.begin
	}
	c := t.first
	for n--; n >= uint64(len(c.records)); c = c.next {
		n -= uint64(len(c.records))
	}
	r := &c.records[n]
	return r.last, t.time(r)
}

func (t *trail) time(r *record) time.Time {
	return t.begin.Add(time.Duration(r.At) * time.Microsecond)
}

// Expand implements journal.Trail.
func (t *trail) Expand() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.expand()
}

// Take implements journal.Trail.
func (t *trail) Take() ([][]event.Event, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.expand(); err != nil {
		return nil, err
	}
	taken := t.made[t.taken:]
	t.taken = len(t.made)
	return taken, nil
}

// expand makes the events of all records. t.mu must be held.
func (t *trail) expand() (err error) {
	defer func() {
		if t.err == nil {
			t.err = err
		}
	}()
	defer held.Recovered(&err)
	for n := t.published.Load() / 2; t.read < n && t.err == nil; t.read++ {
		if t.exp == nil {
			t.exp, t.open = t.open(), nil
		}
		if t.index == len(t.from.records) {
			t.from, t.index = t.from.next, 0
		}
		r := &t.from.records[t.index]
		t.index++
		var events []event.Event
		if t.start != nil && t.read == 0 {
			events, t.err = t.exp.Start(*t.start, &r.LineRecord)
		} else {
			events, t.err = t.exp.Next(&r.LineRecord)
		}
		if t.err == nil && (len(events) == 0 || events[len(events)-1].Seq != r.last) {
			t.err = fmt.Errorf("record %d has %d events that do not end with number %d", t.read, len(events), r.last)
		}
		if t.err == nil {
			t.made = append(t.made, events)
		}
	}
	return t.err
}

// leave stops the trail and returns the run after its last record, with the command that is open,
// nil if there is none. The trail must not be expanded again, except to take what was made.
func (t *trail) leave() (*engine.Run, *engine.CallFunc, error) {
	t.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.expand(); err != nil {
		return nil, nil, err
	}
	if t.exp == nil {
		t.exp, t.open = t.open(), nil
	}
	run, call := t.exp.Run()
	t.exp = nil
	return run, call, nil
}

// events returns the events of all activations.
func (t *trail) events() [][]event.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.made
}
