package secret

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// MinLen is the length in bytes from which a value is kept: a shorter one would tear words apart.
	MinLen = 6
	// MaxValues bounds a Keeper.
	MaxValues = 4096
)

// ErrFull is the error of one value more than MaxValues.
var ErrFull = errors.New("too many secrets")

// Keeper knows the secrets that were used in this process and takes them out of texts. The zero Keeper and a nil one know none. Safe for concurrent
// use; reading takes no lock.
type Keeper struct {
	mu     sync.Mutex
	values map[string]string // name by value
	found  atomic.Pointer[matcher]
}

// Add keeps a value that was used under a name. Values below MinLen are not kept. The error wraps ErrFull.
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
	k.found.Store(newMatcher(k.values))
	return nil
}

// Redact gives a text with `[secret NAME]` for every kept value in it, in any of the forms in which values are commonly written.
func (k *Keeper) Redact(text string) string {
	m := k.matcher()
	if m == nil || text == "" {
		return text
	}
	out, _ := m.scan(text, true)
	return out
}

// RedactJSON is Redact for a JSON value, which stays one. What is no JSON is taken as text.
func (k *Keeper) RedactJSON(value json.RawMessage) json.RawMessage {
	m := k.matcher()
	if m == nil || len(value) == 0 {
		return value
	}
	out, _ := m.scan(string(value), true)
	if out == string(value) || json.Valid([]byte(out)) || !json.Valid(value) {
		return json.RawMessage(out)
	}
	// It stood in a number: the value as a whole gives way.
	text, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage(`"` + marker("value") + `"`)
	}
	return text
}

func (k *Keeper) matcher() *matcher {
	if k == nil {
		return nil
	}
	return k.found.Load()
}

// Error gives an error with the text of err redacted; errors.Is and As see through it. It is err itself where nothing was in it.
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

// marker is what stands for a value. It is safe inside JSON, YAML, HTML and addresses, whatever the name is.
func marker(name string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:", r) {
			return r
		}
		return '_'
	}, name)
	return "[secret " + safe + "]"
}

// form is one way in which a value may be written.
type form struct{ text, marker string }

// keyLen is how much of a form tells where it may begin; no form is shorter than MinLen.
const keyLen = 4

// matcher finds forms: at each place the longest that begins there.
type matcher struct {
	// pairs has a bit for each pair of bytes that begins a form: most places of a text are passed by it.
	pairs [1 << 16 / 64]uint64
	// starts are the forms by their first bytes, the longest first.
	starts map[[keyLen]byte][]form
	// short are the proper beginnings of forms that are shorter than keyLen.
	short map[string]bool
}

func newMatcher(values map[string]string) *matcher {
	all := map[string]string{}
	for value, name := range values {
		mark := marker(name)
		for _, f := range forms(value) {
			if was, ok := all[f]; !ok || mark < was {
				all[f] = mark
			}
		}
	}
	m := &matcher{starts: map[[keyLen]byte][]form{}, short: map[string]bool{}}
	for text, mark := range all {
		key := [keyLen]byte([]byte(text))
		m.starts[key] = append(m.starts[key], form{text, mark})
		pair := int(text[0])<<8 | int(text[1])
		m.pairs[pair/64] |= 1 << (pair % 64)
		for n := 1; n < keyLen; n++ {
			m.short[text[:n]] = true
		}
	}
	for _, list := range m.starts {
		slices.SortFunc(list, func(a, b form) int { return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.text, b.text)) })
	}
	return m
}

// scan replaces what it finds. Unless it is the end, more text may follow, and rest is what must wait for it.
func (m *matcher) scan(text string, end bool) (out, rest string) {
	var b strings.Builder
	from := 0
	for at := 0; at < len(text); {
		if at+keyLen > len(text) {
			if !end && m.short[text[at:]] {
				b.WriteString(text[from:at])
				return b.String(), text[at:]
			}
			at++
			continue
		}
		if pair := int(text[at])<<8 | int(text[at+1]); m.pairs[pair/64]&(1<<(pair%64)) == 0 {
			at++
			continue
		}
		tail, hit := text[at:], ""
		for _, f := range m.starts[[keyLen]byte([]byte(tail[:keyLen]))] {
			if !end && len(f.text) > len(tail) && strings.HasPrefix(f.text, tail) {
				b.WriteString(text[from:at])
				return b.String(), tail
			}
			if strings.HasPrefix(tail, f.text) {
				b.WriteString(text[from:at])
				b.WriteString(f.marker)
				hit = f.text
				break
			}
		}
		if hit == "" {
			at++
			continue
		}
		at += len(hit)
		from = at
	}
	if from == 0 {
		return text, ""
	}
	b.WriteString(text[from:])
	return b.String(), ""
}

// Tail redacts a text that comes in pieces: what may be the beginning of a value waits for the next piece. Not safe for concurrent use.
type Tail struct {
	keeper *Keeper
	held   string
}

// Tail begins a text.
func (k *Keeper) Tail() *Tail { return &Tail{keeper: k} }

// Write takes a piece and gives what can be shown of the text so far.
func (t *Tail) Write(piece string) string {
	m := t.keeper.matcher()
	if m == nil {
		out := t.held + piece
		t.held = ""
		return out
	}
	out, rest := m.scan(t.held+piece, false)
	t.held = rest
	return out
}

// Flush gives the rest at the end of the text.
func (t *Tail) Flush() string {
	out := t.keeper.Redact(t.held)
	t.held = ""
	return out
}
