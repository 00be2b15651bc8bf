package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// MinLen is the minimum length in bytes of a kept value: redacting shorter ones would break up
	// words.
	MinLen = 6
	// MaxValues is the maximum number of values in a Keeper.
	MaxValues = 4096
)

// ErrFull is returned when a Keeper already holds MaxValues values.
var ErrFull = errors.New("too many secrets")

// Keeper holds the secrets that were used in this process and redacts them in text. A zero or nil
// Keeper holds none. It is safe for concurrent use; reading takes no lock, except after a value was
// added.
type Keeper struct {
	mu     sync.Mutex
	values map[string]string         // name by value
	found  atomic.Pointer[automaton] // nil if there are no values, or if it lacks a new one
	any    atomic.Bool
}

// Add keeps a value that was used under a name. Values shorter than MinLen are not kept. The error
// wraps ErrFull.
func (k *Keeper) Add(name, value string) error {
	if k == nil || len(value) < MinLen {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.values[value]; ok {
		return nil
	}
	if len(k.values) >= MaxValues {
		return fmt.Errorf("keep secret %s: %w: the limit is %d (max_secrets)", name, ErrFull, MaxValues)
	}
	if k.values == nil {
		k.values = map[string]string{}
	}
	k.values[value] = name
	k.found.Store(nil) // rebuilt on demand
	k.any.Store(true)
	return nil
}

// Redact returns text with `[secret NAME]` in place of every kept value, in any of the forms in
// which values are commonly written.
func (k *Keeper) Redact(text string) string {
	in := k.automaton()
	if in == nil || len(text) < MinLen {
		return text
	}
	t := Tail{scan: newScanner(in), rest: text}
	t.scan.write(text)
	return t.Flush()
}

// RedactJSON is Redact for a JSON value and returns valid JSON. A value that is not JSON is treated
// as text.
func (k *Keeper) RedactJSON(value json.RawMessage) json.RawMessage {
	out := k.Redact(string(value))
	if out == string(value) {
		return value
	}
	if json.Valid([]byte(out)) || !json.Valid(value) {
		return json.RawMessage(out)
	}
	// The value is part of a number: the whole value is replaced.
	text, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`"` + marker("value") + `"`)
	}
	return text
}

func (k *Keeper) automaton() *automaton {
	if k == nil || !k.any.Load() {
		return nil
	}
	if a := k.found.Load(); a != nil {
		return a
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.found.Load()
	if a == nil {
		a = newAutomaton(patternsOf(k.values))
		k.found.Store(a)
	}
	return a
}

// Error returns an error with the text of err redacted; errors.Is and errors.As see through it. It
// returns err itself if there was nothing to redact.
func (k *Keeper) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := k.Redact(text); clean != text {
		return &redacted{clean, err}
	}
	return err
}

type redacted struct {
	text string
	err  error
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }

// marker returns the replacement for a value. It is safe inside JSON, YAML, HTML and URLs, whatever
// the name is.
func marker(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:", r) {
			return r
		}
		return '_'
	}, name)
	return "[secret " + safe + "]"
}

// maxRest is the maximum size of what a Tail holds back. Only a text that keeps repeating the
// prefix of a value reaches it.
const maxRest = 4 << 20

// Tail redacts text that arrives in pieces: a possible prefix of a value waits for the next piece.
// It is not safe for concurrent use.
type Tail struct {
	keeper *Keeper
	scan   *scanner // nil before the first piece
	rest   string   // the text that was read and not returned yet
}

// Tail starts a new text.
func (k *Keeper) Tail() *Tail { return &Tail{keeper: k} }

// Write adds a piece and returns the part of the text that can be shown and was not returned yet,
// redacted. What may be the beginning of a secret is kept for later calls.
func (t *Tail) Write(piece string) string {
	in := t.keeper.automaton()
	if in == nil {
		return piece
	}
	if t.scan == nil || t.scan.in != in { // a value was added
		t.scan = newScanner(in)
		t.scan.write(t.rest)
	}
	t.rest += piece
	t.scan.write(piece)
	out := t.release(t.scan.root.hold(t.scan.read))
	if len(t.rest) > maxRest {
		out += t.Flush()
	}
	return out
}

// Flush returns the rest at the end of the text.
func (t *Tail) Flush() string {
	if t.scan == nil {
		return ""
	}
	t.scan.root.finish()
	out := t.release(t.scan.read)
	t.scan = nil
	return out
}

// release returns the rest of the text before a position, redacted. A find is not cut in the
// middle.
func (t *Tail) release(to int) string {
	t.scan.finds = merge(t.scan.finds)
	finds := t.scan.finds
	for len(finds) > 0 && finds[len(finds)-1].end > to {
		to = min(to, finds[len(finds)-1].start)
		finds = finds[:len(finds)-1]
	}
	from := t.scan.read - len(t.rest) // the position of the rest
	text := t.rest[:to-from]
	t.rest = t.rest[to-from:]
	if len(finds) == 0 {
		return text
	}
	var b strings.Builder
	for _, f := range finds {
		b.WriteString(text[:f.start-from])
		b.WriteString(f.mark)
		text, from = text[f.end-from:], f.end
	}
	b.WriteString(text)
	t.scan.finds = append(t.scan.finds[:0], t.scan.finds[len(finds):]...)
	return b.String()
}
