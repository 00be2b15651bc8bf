package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	values map[string]string       // name by value
	found  atomic.Pointer[matcher] // nil if there are no values, or if it lacks a new one
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
	m := k.matcher()
	if m == nil || text == "" {
		return text
	}
	out, _ := m.scan(text, true)
	return out
}

// RedactJSON is Redact for a JSON value and returns valid JSON. A value that is not JSON is treated
// as text.
func (k *Keeper) RedactJSON(value json.RawMessage) json.RawMessage {
	m := k.matcher()
	if m == nil || len(value) == 0 {
		return value
	}
	out, _ := m.scan(string(value), true)
	if out == string(value) || json.Valid([]byte(out)) || !json.Valid(value) {
		return json.RawMessage(out)
	}
	// The value is part of a number: the whole value is replaced.
	text, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`"` + marker("value") + `"`)
	}
	return text
}

func (k *Keeper) matcher() *matcher {
	if k == nil || !k.any.Load() {
		return nil
	}
	if m := k.found.Load(); m != nil {
		return m
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.found.Load()
	if m == nil {
		m = newMatcher(k.values)
		k.found.Store(m)
	}
	return m
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

// matcher finds values in all their spellings.
type matcher struct{ plain, base64, hex *automaton }

func newMatcher(values map[string]string) *matcher {
	p := patternsOf(values)
	return &matcher{newAutomaton(p.plain), newAutomaton(p.base64), newAutomaton(p.hex)}
}

// scan replaces the values it finds. Unless end is set, more text may follow, and rest is the part
// that must wait for it.
//
// The text is searched as it is, and after its escapes were decoded once, twice and so on; each
// time also as base64 and as hexadecimal digits. The time is linear in the length of the text.
func (m *matcher) scan(text string, end bool) (out, rest string) {
	var (
		all  []find
		safe = len(text)
		last view
	)
	v := view{text: []byte(text)}
	for level := 0; ; level++ {
		for _, look := range []struct {
			in   *automaton
			read *alphabet
		}{{m.plain, nil}, {m.base64, base64Alphabet}, {m.hex, hexAlphabet}} {
			partial := look.in.scan(v.text, look.read, func(f find) {
				f.start, f.end = v.at(f.start, f.end)
				all = append(all, f)
			})
			if partial < len(v.text) {
				safe = min(safe, v.from(partial, len(text)))
			}
		}
		last = v
		if level == maxLevels {
			break
		}
		next, more, cut := v.decoded(end)
		if cut < len(v.text) {
			safe = min(safe, v.from(cut, len(text)))
		}
		if !more && cut == len(v.text) {
			break
		}
		v = next // even if nothing was decoded but an incomplete escape was left out: a value may continue in it
	}
	all = merge(all)
	if end {
		safe = len(text)
	} else {
		safe = last.unit(safe)
		for _, f := range slices.Backward(all) { // no find is cut in the middle
			if f.start < safe && safe < f.end {
				safe = f.start
			}
		}
	}
	if len(all) == 0 {
		return text[:safe], text[safe:]
	}
	var b strings.Builder
	from := 0
	for _, f := range all {
		if f.start >= safe {
			break
		}
		b.WriteString(text[from:f.start])
		b.WriteString(f.mark)
		from = f.end
	}
	b.WriteString(text[from:safe])
	return b.String(), text[safe:]
}

// maxRest is the maximum size of what a Tail holds back. Only a text that keeps repeating the
// prefix of a value reaches it.
const maxRest = 4 << 20

// Tail redacts text that arrives in pieces: a possible prefix of a value waits for the next piece.
// It is not safe for concurrent use.
type Tail struct {
	keeper *Keeper
	rest   string
}

// Tail starts a new text.
func (k *Keeper) Tail() *Tail { return &Tail{keeper: k} }

// Write adds a piece and returns the part of the text that can be shown and was not returned yet,
// redacted. What may be the beginning of a secret is kept for later calls.
func (t *Tail) Write(piece string) string {
	m := t.keeper.matcher()
	if m == nil {
		out := t.rest + piece
		t.rest = ""
		return out
	}
	out, rest := m.scan(t.rest+piece, false)
	if t.rest = rest; len(rest) > maxRest {
		out += t.Flush()
	}
	return out
}

// Flush returns the rest at the end of the text.
func (t *Tail) Flush() string {
	out := t.keeper.Redact(t.rest)
	t.rest = ""
	return out
}
