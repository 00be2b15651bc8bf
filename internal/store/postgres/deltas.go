package postgres

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// announceInterval is how often a handle announces which runs it hears, and announceTTL how
	// long others rely on an announcement, so that processes that start later learn of it too, and
	// nothing needs to be sent when a process dies.
	announceInterval, announceTTL = 10 * time.Second, 30 * time.Second
	// maxPassBytes limits the size of the texts waiting to be sent.
	maxPassBytes = 1 << 20
)

// Kinds of notifications in addition to those of changes.
const (
	kindHears = "w" // the hashes of runs that the sender hears
	kindDelta = "d" // the ID of a run in base64, and the text
)

// deltas passes the texts emitted in runs to other processes. They are sent as notifications and
// never stored in a table.
type deltas struct {
	mu sync.Mutex
	// subscribers are the subscribers of this handle, by run.
	subscribers map[string][]*ear
	announcing  bool // a goroutine announces which runs are heard
	// heard holds the runs that other handles hear, by hash and sender, with their expiry times;
	// swept is when expired entries were last deleted.
	heard        map[uint64]map[string]time.Time
	swept        time.Time
	hasListeners atomic.Bool // heard is not empty

	texts      []string // texts to send
	bytes      int
	toAnnounce map[uint64]struct{} // runs to announce as heard
}

type ear struct{ heard func(text string) }

// Listen implements journal.Deltas.
func (s *Store) Listen(run string, heard func(text string)) (stop func()) {
	ch, one := s.changes, &ear{heard}
	d := &ch.deltas
	d.mu.Lock()
	if d.subscribers == nil {
		d.subscribers, d.toAnnounce = map[string][]*ear{}, map[uint64]struct{}{}
	}
	d.subscribers[run] = append(d.subscribers[run], one)
	d.toAnnounce[hashOf(run)] = struct{}{}
	announces := !d.announcing && s.db.cfg.Relay == nil // a bubble's clock would skip years because of it
	d.announcing = d.announcing || announces
	d.mu.Unlock()
	ch.enter(nil)
	ch.mu.Lock()
	if announces && !ch.closed {
		ch.wg.Go(ch.announce)
	}
	if ch.hasListened { // otherwise others are notified once it does
		ch.notify()
	}
	ch.mu.Unlock()
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.subscribers[run] = slices.DeleteFunc(d.subscribers[run], func(o *ear) bool { return o == one }); len(
			d.subscribers[run]) == 0 {
			delete(d.subscribers, run)
		}
	})
}

// announce repeatedly announces which runs are heard, as long as there are any.
func (ch *changes) announce() {
	t := time.NewTicker(announceInterval)
	defer t.Stop()
	d := &ch.deltas
	for {
		select {
		case <-t.C:
		case <-ch.stop:
			return
		}
		d.mu.Lock()
		if len(d.subscribers) == 0 {
			d.announcing = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		ch.mu.Lock()
		d.announce()
		ch.notify()
		ch.mu.Unlock()
	}
}

// announce queues the announcement of the heard runs.
func (d *deltas) announce() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for run := range d.subscribers {
		d.toAnnounce[hashOf(run)] = struct{}{}
	}
}

// HasListener implements journal.Deltas.
func (s *Store) HasListener(run string) bool {
	d := &s.changes.deltas
	if !d.hasListeners.Load() {
		return false
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, until := range d.heard[hashOf(run)] {
		if now.Before(until) {
			return true
		}
	}
	return false
}

// Pass implements journal.Deltas.
func (s *Store) Pass(run, text string) {
	ch := s.changes
	full := ch.sender + " " + kindDelta + " " + base64.RawStdEncoding.EncodeToString([]byte(run)) + " " + text
	d := &ch.deltas
	d.mu.Lock()
	fits := len(full) <= maxNotifyBytes && d.bytes+len(full) <= maxPassBytes
	if fits {
		d.texts = append(d.texts, full)
		d.bytes += len(full)
	}
	d.mu.Unlock()
	if fits {
		ch.mu.Lock()
		ch.notify()
		ch.mu.Unlock()
	}
}

// drain removes and returns the pending notifications, which are sent before those of changes. The
// heard runs are announced only if hears is set, which means that the texts that others then send
// will arrive.
func (d *deltas) drain(sender string, hears bool) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	texts := d.texts
	d.texts, d.bytes = nil, 0
	if hears {
		texts = append(texts, hashTexts(sender+" "+kindHears+" ", d.toAnnounce)...)
		clear(d.toAnnounce)
	}
	return texts
}

// hashTexts returns as many notifications as the hashes need, each with the prefix head.
func hashTexts(head string, hashes map[uint64]struct{}) (texts []string) {
	b := make([]byte, 0, 6000)
	for h := range hashes {
		b = binary.BigEndian.AppendUint64(b, h)
		if base64.RawStdEncoding.EncodedLen(len(b)+8)+len(head) > maxNotifyBytes {
			texts = append(texts, head+base64.RawStdEncoding.EncodeToString(b))
			b = b[:0]
		}
	}
	if len(b) > 0 {
		texts = append(texts, head+base64.RawStdEncoding.EncodeToString(b))
	}
	return texts
}

// readHashes decodes the part that hashTexts appends to the head.
func readHashes(list string) (hashes []uint64, ok bool) {
	b, err := base64.RawStdEncoding.DecodeString(list)
	if err != nil || len(b)%8 != 0 {
		return nil, false
	}
	for ; len(b) > 0; b = b[8:] {
		hashes = append(hashes, binary.BigEndian.Uint64(b))
	}
	return hashes, true
}

// hears records which runs another handle hears. Without periodic announcements the record
// does not expire.
func (d *deltas) hears(sender string, hashes []uint64, lasts time.Duration) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.heard == nil {
		d.heard = map[uint64]map[string]time.Time{}
	}
	for _, h := range hashes {
		if d.heard[h] == nil {
			d.heard[h] = map[string]time.Time{}
		}
		d.heard[h][sender] = now.Add(lasts)
	}
	if now.Sub(d.swept) > announceTTL {
		d.swept = now
		for h, senders := range d.heard {
			for s, until := range senders {
				if now.After(until) {
					delete(senders, s)
				}
			}
			if len(senders) == 0 {
				delete(d.heard, h)
			}
		}
	}
	d.hasListeners.Store(len(d.heard) > 0)
}

// deliver passes on the text that another handle sent for a run.
func (d *deltas) deliver(rest string) {
	id, text, ok := strings.Cut(rest, " ")
	run, err := base64.RawStdEncoding.DecodeString(id)
	if !ok || err != nil {
		return
	}
	d.mu.Lock()
	ears := slices.Clone(d.subscribers[string(run)])
	d.mu.Unlock()
	for _, e := range ears {
		e.heard(text)
	}
}
