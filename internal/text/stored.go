package text

import (
	"fmt"
	"strings"
	"sync"
)

// Stored is a text whose bytes may leave memory: once something else holds them, they are loaded
// again each time they are needed. It is safe for concurrent use.
type Stored struct {
	node node

	mu   sync.Mutex
	data *string // nil if not in memory
	// load returns the bytes; it is nil if nothing else holds them.
	load func() (string, error)
	pins int
	// blank reports whether the text is only white space. It is valid only if known is set.
	blank, known bool
}

// Keep returns a stored text whose bytes are in memory until [Stored.Release] is called.
func Keep(s string) *Stored {
	t := AtPlace(int64(len(s)), nil)
	t.data = &s
	t.blank, t.known = strings.TrimSpace(s) == "", true
	return t
}

// AtPlace returns a stored text of size bytes, which load returns. load may be called from any
// goroutine, but never concurrently for the same text.
func AtPlace(size int64, load func() (string, error)) *Stored {
	t := &Stored{load: load}
	t.node = node{stored: t, loads: true, size: size}
	return t
}

// Text returns the stored text as a Text.
func (t *Stored) Text() Text {
	if t.node.size == 0 {
		return Text{}
	}
	return Text{n: &t.node}
}

// Release allows the bytes to leave memory: from now on load returns them.
func (t *Stored) Release(load func() (string, error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load = load
	t.drop()
}

// drop drops the bytes if nothing needs them. t.mu must be held.
func (t *Stored) drop() {
	if t.pins == 0 && t.load != nil {
		t.data = nil
	}
}

// get returns the bytes. t.mu must be held.
func (t *Stored) get() (string, error) {
	if t.data != nil {
		return *t.data, nil
	}
	s, err := t.load()
	if err == nil && int64(len(s)) != t.node.size {
		err = fmt.Errorf("it has %d bytes, not %d", len(s), t.node.size)
	}
	if err != nil {
		return "", &LoadError{Err: err}
	}
	return s, nil
}

// bytes returns the bytes. If they cannot be loaded, it panics with a *LoadError.
func (t *Stored) bytes() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.get()
	if err != nil {
		panic(err)
	}
	return s
}

// isBlank implements [Text.IsBlank].
func (t *Stored) isBlank() bool {
	t.mu.Lock()
	known, blank := t.known, t.blank
	t.mu.Unlock()
	if !known {
		blank = strings.TrimSpace(t.bytes()) == ""
		t.mu.Lock()
		t.blank, t.known = blank, true
		t.mu.Unlock()
	}
	return blank
}

// pin keeps the bytes in memory until unpin is called.
func (t *Stored) pin() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.get()
	if err != nil {
		return err
	}
	if t.data == nil {
		t.data = &s
	}
	t.pins++
	return nil
}

func (t *Stored) unpin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pins--
	t.drop()
}

// LoadError is the error for a stored text whose bytes cannot be loaded.
type LoadError struct{ Err error }

// Error implements error.
func (e *LoadError) Error() string { return "load a stored text: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Recover sets err to the *LoadError with which an operation on texts panicked. It must be
// deferred; other panics continue.
func Recover(err *error) {
	switch v := recover().(type) {
	case nil:
	case *LoadError:
		*err = v
	default:
		panic(v)
	}
}

// Pin loads all parts of the text and keeps them in memory until unpin is called, so that no
// operation on it fails. The error is a *LoadError; nothing is kept in memory then.
func (t Text) Pin() (unpin func(), err error) {
	if t.n == nil || !t.n.loads {
		return func() {}, nil
	}
	var pinned []*Stored
	unpin = func() {
		for _, s := range pinned {
			s.unpin()
		}
		pinned = nil
	}
	for n := range t.n.leaves() {
		if n.stored == nil {
			continue
		}
		if err := n.stored.pin(); err != nil {
			unpin()
			return nil, err
		}
		pinned = append(pinned, n.stored)
	}
	return unpin, nil
}

// IsString reports whether the text is a plain string, neither composed of others nor stored.
func (t Text) IsString() bool { return t.n == nil }

// IsLoaded reports whether the text has no stored parts.
func (t Text) IsLoaded() bool { return t.n == nil || !t.n.loads }
