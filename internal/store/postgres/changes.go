package postgres

import (
	"context"
	"crypto/rand"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	// notifyInterval is the minimum interval between notifications from a handle about what it
	// stored.
	notifyInterval = 20 * time.Millisecond
	// maxNotifyBytes is the maximum length of a notification: the server's limit is just under
	// 8,000.
	maxNotifyBytes = 7900
	// probeEvery is how often the liveness of the owners in other processes is checked while there
	// are subscriptions to runs, because the death of an owner leaves no commit.
	probeEvery = time.Second
	// notifyTimeout limits the sending of a notification.
	notifyTimeout = 10 * time.Second
)

// changes signals stored changes: those of this handle right after its commits, those of other
// handles when the session receives a notification. A handle notifies others after the commit, in a
// separate statement, because a notification inside the transaction takes a lock across all commits
// of the server. If a notification is lost, because the process died first or the connection was
// lost, the waiters' own polls find the change.
type changes struct {
	hub     journal.Hub
	store   *Store
	channel string
	sender  string // prefix of this handle's notifications, which it ignores itself
	deltas  deltas

	mu            sync.Mutex
	closed        bool
	listens       bool                      // listens, or is about to
	hasListened   bool                      // it has listened, so texts that others send after an announcement arrive
	stopListening func()                    // stops listening to a relay
	runs          map[uint64]map[string]int // number of subscriptions, by hash and ID of the run
	pending       map[uint64]struct{}       // runs with pending notifications
	kinds         string                    // other pending notifications: n, r, l, s, o; q asks which runs others hear
	notifying     bool                      // a goroutine is sending
	probing       bool                      // a goroutine is probing
	stop          chan struct{}
	wg            sync.WaitGroup
}

func newChanges(s *Store) *changes {
	return &changes{store: s, channel: s.schema, sender: rand.Text()[:8], runs: map[uint64]map[string]int{},
		pending: map[uint64]struct{}{}, stop: make(chan struct{})}
}

// hashOf returns the identifier of a run in notifications. If two runs have the same hash, they
// only signal each other's waiters.
func hashOf(run string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(run)) // it never fails
	return h.Sum64()
}

// Subscribe implements journal.Changes. The first subscription makes the store listen.
func (s *Store) Subscribe(c chan<- struct{}, topics ...journal.Topic) (stop func()) {
	ch := s.changes
	leave := ch.hub.Subscribe(c, topics...)
	ch.enter(topics)
	return sync.OnceFunc(func() {
		leave()
		ch.mu.Lock()
		defer ch.mu.Unlock()
		for _, t := range topics {
			if t.Kind == journal.TopicRun {
				ch.count(t.Run, -1)
			}
		}
	})
}

// count adds by to the number of subscriptions of a run. ch.mu must be held.
func (ch *changes) count(run string, by int) {
	h := hashOf(run)
	if ch.runs[h] == nil {
		ch.runs[h] = map[string]int{}
	}
	if ch.runs[h][run] += by; ch.runs[h][run] == 0 {
		if delete(ch.runs[h], run); len(ch.runs[h]) == 0 {
			delete(ch.runs, h)
		}
	}
}

func (ch *changes) enter(topics []journal.Topic) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	waits := false
	for _, t := range topics {
		if t.Kind == journal.TopicRun {
			ch.count(t.Run, 1)
			waits = true
		}
	}
	if ch.closed {
		return
	}
	relay := ch.store.db.cfg.Relay
	switch {
	case ch.listens:
	case relay != nil:
		ch.listens, ch.hasListened, ch.stopListening = true, true, relay.Listen(ch.channel, ch.receive)
	default:
		ch.listens = true
		ch.wg.Go(ch.listen)
	}
	if waits && !ch.probing && relay == nil {
		ch.probing = true
		ch.wg.Go(ch.probe)
	}
}

// listen starts listening. Everything stored before is signalled to all subscribers, because their
// reads may be older.
func (ch *changes) listen() {
	ctx, cancel := context.WithTimeout(context.Background(), jobTimeout)
	defer cancel()
	go func() {
		select {
		case <-ch.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = ch.store.db.session.listen(ctx, ch) // if it fails, the session keeps trying, and calls listening
	ch.listening()
}

// listening signals everything that may have been stored before the store listened, or since its
// session was lost. It announces which runs are heard here, and asks which runs others hear,
// because their answers so far were lost.
func (ch *changes) listening() {
	ch.hub.SignalAll()
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.hasListened = true
	ch.deltas.announce()
	ch.add("q")
	ch.notify()
}

// stored signals what this handle stored and notifies other handles.
func (ch *changes) stored(topics ...journal.Topic) {
	ch.hub.Signal(topics...)
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for _, t := range topics {
		switch t.Kind {
		case journal.TopicRun:
			ch.pending[hashOf(t.Run)] = struct{}{}
		case journal.TopicRequests:
			ch.add("r")
		case journal.TopicNotices:
			ch.add("n")
		case journal.TopicLines:
			ch.add("l")
		case journal.TopicStarts:
			ch.add("s")
		}
	}
	ch.notify()
}

// appended signals what a batch stored and notifies other handles.
func (ch *changes) appended(batch []*pending) {
	if len(batch) == 0 {
		return
	}
	notices, waiting, starts := false, false, false
	ch.mu.Lock()
	for _, p := range batch {
		ch.pending[hashOf(p.Run)] = struct{}{}
		notices = notices || len(p.Notices) > 0
		waiting = waiting || p.Release && p.formerOwner() != 0
		starts = starts || p.Create != nil
	}
	if waiting {
		ch.add("r")
	}
	if notices {
		ch.add("n")
	}
	if starts {
		ch.add("s")
	}
	ch.notify()
	ch.mu.Unlock()
	for _, p := range batch {
		ch.hub.Signal(journal.OfRun(p.Run))
	}
	if notices {
		ch.hub.Signal(journal.OfNotices())
	}
	if starts {
		ch.hub.Signal(journal.OfStarts())
	}
	if waiting {
		ch.hub.Signal(journal.OfRequests())
	}
}

// all signals that any run may have changed and notifies other handles.
func (ch *changes) all() {
	ch.hub.SignalKind(journal.TopicRun)
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.add("o")
	ch.notify()
}

func (ch *changes) add(kind string) {
	if !strings.Contains(ch.kinds, kind) {
		ch.kinds += kind
	}
}

// notify makes sure that pending notifications are sent. ch.mu must be held.
func (ch *changes) notify() {
	switch {
	case ch.closed:
	case !ch.notifying:
		ch.notifying = true
		ch.wg.Go(ch.notifyLoop)
	}
}

// notifyLoop sends pending notifications until there are none.
func (ch *changes) notifyLoop() {
	t := time.NewTimer(notifyInterval)
	defer t.Stop()
	for {
		texts := ch.drain()
		if texts == nil {
			return
		}
		_ = ch.send(texts) // see changes
		t.Reset(notifyInterval)
		select {
		case <-t.C:
		case <-ch.stop:
		}
	}
}

// drain removes and returns what is pending, as notifications. If there is nothing, it returns nil,
// and notifyLoop ends.
func (ch *changes) drain() []string {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	texts := ch.deltas.drain(ch.sender, ch.hasListened)
	if len(texts) == 0 && len(ch.pending) == 0 && ch.kinds == "" {
		ch.notifying = false
		return nil
	}
	head := ch.sender + " " + ch.kinds + " "
	if texts = append(texts, hashTexts(head, ch.pending)...); len(ch.pending) == 0 && ch.kinds != "" {
		texts = append(texts, head)
	}
	clear(ch.pending)
	ch.kinds = ""
	return texts
}

func (ch *changes) send(texts []string) error {
	if r := ch.store.db.cfg.Relay; r != nil {
		for _, text := range texts {
			r.Send(ch.channel, text)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
	defer cancel()
	_, err := ch.store.db.pool.Exec(ctx, `SELECT pg_notify($1, t) FROM unnest($2::text[]) t`, ch.channel, texts)
	return err
}

// receive signals what another handle reported. A notification that cannot be read signals
// everything.
func (ch *changes) receive(text string) {
	sender, rest, _ := strings.Cut(text, " ")
	if sender == ch.sender {
		return
	}
	kinds, list, ok := strings.Cut(rest, " ")
	if ok && kinds == kindDelta {
		ch.deltas.deliver(list)
		return
	}
	hashes, isList := readHashes(list)
	if !ok || !isList {
		ch.hub.SignalAll()
		return
	}
	if kinds == kindHears {
		lasts := announceTTL
		if ch.store.db.cfg.Relay != nil {
			lasts = never
		}
		ch.deltas.hears(sender, hashes, lasts)
		return
	}
	for _, k := range kinds {
		switch k {
		case 'r':
			ch.hub.SignalKind(journal.TopicRequests)
		case 'n':
			ch.hub.SignalKind(journal.TopicNotices)
		case 'l':
			ch.hub.SignalKind(journal.TopicLines)
		case 's':
			ch.hub.SignalKind(journal.TopicStarts)
		case 'q':
			ch.mu.Lock()
			ch.deltas.announce()
			ch.notify()
			ch.mu.Unlock()
		default:
			ch.hub.SignalKind(journal.TopicRun)
		}
	}
	var topics []journal.Topic
	ch.mu.Lock()
	for _, h := range hashes {
		for run := range ch.runs[h] {
			topics = append(topics, journal.OfRun(run))
		}
	}
	ch.mu.Unlock()
	ch.hub.Signal(topics...)
}

// probe signals the subscribers of runs when an owner has died, as long as there are subscribers.
func (ch *changes) probe() {
	t := time.NewTicker(probeEvery)
	defer t.Stop()
	var before map[int64]bool
	for {
		now := map[int64]bool{}
		var n int64
		ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
		err := ch.store.query(ctx, sqlLiving, nil, []any{&n}, func() { clear(now) }, func() error {
			now[n] = true
			return nil
		})
		cancel()
		for n := range before {
			if err == nil && !now[n] {
				ch.hub.SignalKind(journal.TopicRun)
				break
			}
		}
		if err == nil {
			before = now
		}
		select {
		case <-t.C:
		case <-ch.stop:
			return
		}
		ch.mu.Lock()
		if len(ch.runs) == 0 {
			ch.probing = false
			ch.mu.Unlock()
			return
		}
		ch.mu.Unlock()
	}
}

// close sends pending notifications, ends the goroutines and stops listening.
func (ch *changes) close(ctx context.Context) error {
	ch.mu.Lock()
	if ch.closed {
		ch.mu.Unlock()
		return nil
	}
	ch.closed = true
	close(ch.stop)
	ch.mu.Unlock()
	ch.wg.Wait()
	switch {
	case !ch.listens:
		return nil
	case ch.stopListening != nil:
		ch.stopListening()
		return nil
	}
	return ch.store.db.session.unlisten(ctx, ch)
}

// died notifies others that this handle no longer owns anything: its runs may be claimed.
func (ch *changes) died() error {
	return ch.send([]string{ch.sender + " or "})
}
