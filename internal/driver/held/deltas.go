package held

import (
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/journal"
)

// Model output of a run is sent to other processes in batches with this maximum delay and size.
const (
	sayEvery = 100 * time.Millisecond
	sayBytes = 4 << 10
)

// Said sends model output to the processes that watch a run, and stores nothing. Pieces of one call
// are joined, which delays them by at most 100 ms. Create it with NewSaid. It is safe for
// concurrent use.
type Said struct {
	store journal.Deltas

	mu   sync.Mutex
	runs map[string]*pendingOutput
}

// pendingOutput is the model output of a run that has not been sent yet.
type pendingOutput struct {
	deltas []driver.Delta
	bytes  int
	timer  *time.Timer
}

// NewSaid returns a Said that uses a store.
func NewSaid(store journal.Deltas) *Said {
	return &Said{store: store, runs: map[string]*pendingOutput{}}
}

// Say sends a piece if another process listens to the run.
func (s *Said) Say(run string, d driver.Delta) {
	if !s.store.HasListener(run) {
		return
	}
	s.mu.Lock()
	r := s.runs[run]
	if r == nil {
		r = &pendingOutput{timer: time.AfterFunc(sayEvery, func() { s.Flush(run) })}
		s.runs[run] = r
	}
	r.add(d)
	full := r.bytes >= sayBytes
	s.mu.Unlock()
	if full {
		s.Flush(run)
	}
}

// Flush sends the pending output of a run. It is called when a call has ended, so that its output
// arrives before its result.
func (s *Said) Flush(run string) {
	s.mu.Lock()
	defer s.mu.Unlock() // held throughout, so that pieces stay in order
	r := s.runs[run]
	if r == nil {
		return
	}
	delete(s.runs, run)
	r.timer.Stop()
	var some []driver.Delta
	size := 0
	for _, d := range r.deltas {
		for _, part := range parts(d) {
			n := encodedSize(part)
			if size += n; size > journal.MaxDelta-64 && len(some) > 0 {
				s.pass(run, some)
				some, size = nil, n
			}
			some = append(some, part)
		}
	}
	s.pass(run, some)
}

func (s *Said) pass(run string, deltas []driver.Delta) {
	if b, err := json.Marshal(deltas); err == nil { // strings and numbers always encode
		s.store.Pass(run, string(b))
	}
}

// add joins a piece to the earlier output of its call.
func (r *pendingOutput) add(d driver.Delta) {
	r.bytes += len(d.Text) + len(d.Reasoning)
	for i := len(r.deltas) - 1; i >= 0; i-- {
		last := &r.deltas[i]
		if last.Call != d.Call {
			continue
		}
		switch {
		case last.Attempt != d.Attempt || last.Offset+len(last.Text) != d.Offset:
		case last.Reasoning == "" && d.Reasoning == "":
			last.Text += d.Text
			return
		case last.Text == "" && d.Text == "":
			last.Reasoning += d.Reasoning
			return
		}
		break
	}
	r.deltas = append(r.deltas, d)
}

// maxPart is the maximum number of bytes of text in a part: in JSON, one byte can take up to six.
const maxPart = 800

// parts splits a piece into parts that can be sent, cut between characters. JSON cannot contain
// bytes that are not UTF-8: a piece with such bytes is not sent, which the offset of the next piece
// shows.
func parts(d driver.Delta) (out []driver.Delta) {
	if !utf8.ValidString(d.Text) || !utf8.ValidString(d.Reasoning) {
		return nil
	}
	if encodedSize(d) <= journal.MaxDelta-64 {
		return []driver.Delta{d}
	}
	for d.Text != "" || d.Reasoning != "" {
		part := d
		part.Text = cut(d.Text)
		if part.Text != "" {
			part.Reasoning = "" // sent in a later part
		} else {
			part.Reasoning = cut(d.Reasoning)
		}
		d.Text, d.Reasoning, d.Offset = d.Text[len(part.Text):], d.Reasoning[len(part.Reasoning):],
			d.Offset+len(part.Text)
		out = append(out, part)
	}
	return out
}

// cut returns a prefix of text of at most maxPart bytes.
func cut(text string) string {
	n := min(len(text), maxPart)
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func encodedSize(d driver.Delta) int {
	b, err := json.Marshal(d)
	if err != nil {
		return 0 // strings and numbers always encode
	}
	return len(b) + 1
}

// Heard decodes the pieces in a string that Said sent. It returns none if the string cannot be
// decoded.
func Heard(text string) []driver.Delta {
	var deltas []driver.Delta
	if json.Unmarshal([]byte(text), &deltas) != nil {
		return nil
	}
	return deltas
}
