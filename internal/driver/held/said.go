package held

import (
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/journal"
)

// What models say in a run is passed to other processes joined, at most so late and so much at a time.
const (
	sayEvery = 100 * time.Millisecond
	sayBytes = 4 << 10
)

// Said passes what models say to the processes that watch a run, and stores nothing. Pieces of one call are joined: what is passed on is late by 100 ms at most. Make it with NewSaid. Safe
// for concurrent use.
type Said struct {
	store journal.Deltas

	mu   sync.Mutex
	runs map[string]*saying
}

// saying is what was said in a run and not passed on yet.
type saying struct {
	deltas []driver.Delta
	bytes  int
	timer  *time.Timer
}

// NewSaid makes a Said over a store.
func NewSaid(store journal.Deltas) *Said { return &Said{store: store, runs: map[string]*saying{}} }

// Say passes a piece on, if another process hears the run.
func (s *Said) Say(run string, d driver.Delta) {
	if !s.store.IsHeard(run) {
		return
	}
	s.mu.Lock()
	r := s.runs[run]
	if r == nil {
		r = &saying{timer: time.AfterFunc(sayEvery, func() { s.Flush(run) })}
		s.runs[run] = r
	}
	r.add(d)
	full := r.bytes >= sayBytes
	s.mu.Unlock()
	if full {
		s.Flush(run)
	}
}

// Flush passes on what was said in a run until now. It is called when a call has ended, so that what it said comes before its result.
func (s *Said) Flush(run string) {
	s.mu.Lock()
	defer s.mu.Unlock() // held to the end: pieces stay in order
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
	if b, err := json.Marshal(deltas); err == nil { // strings and numbers
		s.store.Pass(run, string(b))
	}
}

// add joins a piece to what its call said before.
func (r *saying) add(d driver.Delta) {
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

// maxPart bounds the text of a part: in JSON a byte may become six.
const maxPart = 800

// parts gives a piece in parts that can be passed, cut between characters. JSON has no bytes that are not UTF-8: a piece with such is not passed, which the offset of the next one shows.
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
			part.Reasoning = "" // it follows
		} else {
			part.Reasoning = cut(d.Reasoning)
		}
		d.Text, d.Reasoning, d.Offset = d.Text[len(part.Text):], d.Reasoning[len(part.Reasoning):], d.Offset+len(part.Text)
		out = append(out, part)
	}
	return out
}

// cut gives the beginning of a text.
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
		return 0 // strings and numbers
	}
	return len(b) + 1
}

// Heard gives the pieces in a text that Said passed. What cannot be read has none.
func Heard(text string) []driver.Delta {
	var deltas []driver.Delta
	if json.Unmarshal([]byte(text), &deltas) != nil {
		return nil
	}
	return deltas
}
