package sqlite

import (
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// Other processes' commits are polled at intervals that grow with the time since the last change:
// an eighth of it, from lookMin to the maximum for the subscribed topics.
const (
	lookMin      = 20 * time.Millisecond
	lookRun      = 100 * time.Millisecond
	lookRequests = 250 * time.Millisecond
	lookNotices  = time.Second
	// probeEvery is how often the liveness of the owners in other processes is checked.
	probeEvery = 250 * time.Millisecond
)

// changes signals stored changes: those of this handle right after its commits, those of others by
// polling the file's version, which one goroutine does as long as there are subscribers. A poll
// costs about 5 µs.
type changes struct {
	hub     journal.Hub
	readers *readers
	owners  *owners

	mu         sync.Mutex
	count      int
	closed     bool
	stop       chan struct{} // ends the goroutine; nil while there is none
	subscribed chan struct{} // tells the goroutine that a subscriber arrived
	running    sync.Mutex    // held by the goroutine

	// Fields of the goroutine that holds running.
	conn    *conn // nil until it is needed, and after an error
	valid   bool  // the following fields are valid
	version int64
	marks   marks
	living  map[string]bool // owners in other processes at the last probe
	probed  time.Time
	missed  bool // an owner may have started, and died, without being in living
}

// marks are the values that change with each signalled change.
type marks struct{ record, notice, requests, owners, owner, lines, run int64 }

func newChanges(readers *readers, owners *owners) *changes {
	return &changes{readers: readers, owners: owners}
}

// Subscribe implements journal.Changes.
func (s *Store) Subscribe(c chan<- struct{}, topics ...journal.Topic) (stop func()) {
	ch := s.changes
	leave := ch.hub.Subscribe(c, topics...)
	ch.enter()
	return sync.OnceFunc(func() {
		leave()
		ch.leave()
	})
}

func (ch *changes) enter() {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.count++
	switch {
	case ch.closed:
	case ch.stop == nil:
		ch.stop, ch.subscribed = make(chan struct{}), make(chan struct{}, 1)
		go ch.watch(ch.stop, ch.subscribed)
	default:
		select {
		case ch.subscribed <- struct{}{}:
		default:
		}
	}
}

func (ch *changes) leave() {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.count--; ch.count == 0 {
		ch.end()
	}
}

// end ends the goroutine. ch.mu must be held.
func (ch *changes) end() {
	if ch.stop != nil {
		close(ch.stop)
		ch.stop = nil
	}
}

// close ends the goroutine and closes the connection. Subscribers are signalled by Store.Close.
func (ch *changes) close() error {
	ch.mu.Lock()
	ch.closed = true
	ch.end()
	ch.mu.Unlock()
	ch.running.Lock()
	defer ch.running.Unlock()
	return ch.drop()
}

// watch polls until stop is closed. The first poll signals all subscribers, because what they read
// before it may be outdated.
func (ch *changes) watch(stop, hurry <-chan struct{}) {
	ch.running.Lock()
	defer ch.running.Unlock()
	ch.valid, ch.missed = false, true
	changed := time.Now()
	t := time.NewTimer(lookMin)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-hurry:
			changed = time.Now()
		case <-t.C:
			if ch.poll() {
				changed = time.Now()
			}
		}
		t.Reset(ch.interval(time.Since(changed)))
	}
}

func (ch *changes) interval(quiet time.Duration) time.Duration {
	longest := lookNotices
	switch {
	case ch.hub.Has(journal.TopicRun):
		longest = lookRun
	case ch.hub.Has(journal.TopicRequests), ch.hub.Has(journal.TopicLines), ch.hub.Has(journal.TopicStarts):
		longest = lookRequests
	}
	return min(max(quiet/8, lookMin), longest)
}

// poll signals what others stored since the last call, and reports whether there was something to
// signal. After an error, the next successful call signals everything.
func (ch *changes) poll() bool {
	ch.probe()
	changed, err := ch.compare()
	if err != nil {
		ch.valid = false
		_ = ch.drop()
	}
	return changed
}

func (ch *changes) drop() error {
	c := ch.conn
	if ch.conn = nil; c == nil {
		return nil
	}
	return c.close()
}

//nolint:contextcheck,nolintlint // see always
func (ch *changes) compare() (changed bool, err error) {
	if ch.conn == nil {
		if ch.conn, err = ch.readers.dial(background, sqlBusyNow, sqlReadOnly); err != nil {
			return false, err
		}
	}
	v, err := ch.conn.lookUp(sqlVersion)
	if err != nil || v == nil || ch.valid && v.int(0) == ch.version {
		return false, err
	}
	r, err := ch.conn.lookUp(sqlMarks)
	if err != nil || r == nil {
		return false, err
	}
	now, before, isFirst := marks{r.int(0), r.int(1), r.int(2), r.int(3), r.int(4), r.int(5), r.int(6)}, ch.marks,
		!ch.valid
	ch.version, ch.marks, ch.valid = v.int(0), now, true
	ch.missed = ch.missed || now.owner != before.owner
	switch {
	case isFirst:
		ch.hub.SignalAll()
		return true, nil
	case now == before:
		return false, nil // a heartbeat, or a table outside the journal
	}
	if now.notice != before.notice {
		ch.hub.SignalKind(journal.TopicNotices)
	}
	if now.requests != before.requests {
		ch.hub.SignalKind(journal.TopicRequests)
	}
	if now.run > before.run {
		ch.hub.SignalKind(journal.TopicStarts)
	}
	if now.lines != before.lines {
		ch.hub.SignalKind(journal.TopicLines)
	}
	switch {
	case !ch.hub.Has(journal.TopicRun):
	case now.owners != before.owners || now.record < before.record:
		ch.hub.SignalKind(journal.TopicRun)
	case now.record > before.record:
		return true, ch.conn.each(sqlMoved, func(r row) error {
			ch.hub.Signal(journal.OfRun(r.text(0)))
			return nil
		}, before.record)
	}
	return true, nil
}

// probe signals the subscribers of runs, and those that claim them, when an owner in another
// process has died, because that leaves no commit.
func (ch *changes) probe() {
	switch {
	case !ch.hub.Has(journal.TopicRun) && !ch.hub.Has(journal.TopicRequests):
		ch.missed = true
		return
	case time.Since(ch.probed) < probeEvery:
		return
	}
	ch.probed = time.Now()
	before, living := ch.living, ch.owners.livingOthers()
	died := ch.missed
	for id := range before {
		died = died || !living[id]
	}
	ch.living, ch.missed = living, false
	if died {
		ch.hub.SignalKind(journal.TopicRun)
		ch.hub.SignalKind(journal.TopicRequests)
	}
}

// Listen implements journal.Deltas. A file passes nothing on.
func (*Store) Listen(string, func(text string)) (stop func()) { return func() {} }

// HasListener implements journal.Deltas.
func (*Store) HasListener(string) bool { return false }

// Pass implements journal.Deltas.
func (*Store) Pass(string, string) {}
