package text

import (
	"fmt"
	"strings"
	"sync"
)

// Stored is a text whose bytes may leave memory: once something else holds them, they are loaded where they are needed, each time anew. Safe for concurrent use.
type Stored struct {
	node node

	mu   sync.Mutex
	data *string // nil: not in memory
	// load gives the bytes; nil: nothing else holds them.
	load func() (string, error)
	pins int
	// blank: the text has nothing but white space. It is known where known is set.
	blank, known bool
}

// Keep gives a stored text whose bytes are in memory until [Stored.Release] is called.
func Keep(s string) *Stored {
	t := AtPlace(int64(len(s)), nil)
	t.data = &s
	t.blank, t.known = strings.TrimSpace(s) == "", true
	return t
}

// AtPlace gives a stored text of size bytes that load gives. load is called by any goroutine, for one text by one at a time.
func AtPlace(size int64, load func() (string, error)) *Stored {
	t := &Stored{load: load}
	t.node = node{stored: t, loads: true, size: size}
	return t
}

// Text gives the text.
func (t *Stored) Text() Text {
	if t.node.size == 0 {
		return Text{}
	}
	return Text{n: &t.node}
}

// Release lets the bytes leave memory: from now on load gives them.
func (t *Stored) Release(load func() (string, error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.load = load
	t.leave()
}

// leave drops the bytes where nothing needs them. t.mu is held.
func (t *Stored) leave() {
	if t.pins == 0 && t.load != nil {
		t.data = nil
	}
}

// get gives the bytes. t.mu is held.
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

// bytes gives the bytes. Where they cannot be loaded it panics with a *LoadError.
func (t *Stored) bytes() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.get()
	if err != nil {
		panic(err)
	}
	return s
}

// isBlank is [Text.IsBlank].
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
	t.leave()
}

// LoadError says that the bytes of a stored text cannot be loaded.
type LoadError struct{ Err error }

// Error implements error.
func (e *LoadError) Error() string { return "load a stored text: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Recover sets err to the *LoadError with which an operation on texts panicked. It is deferred; other panics go on.
func Recover(err *error) {
	switch v := recover().(type) {
	case nil:
	case *LoadError:
		*err = v
	default:
		panic(v)
	}
}

// Pin loads all parts of the text and keeps them in memory until unpin is called, so that no operation on it fails. Errors: *LoadError; nothing is kept then.
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

// IsString tells whether the text is a string, and not one that is made of others or stored.
func (t Text) IsString() bool { return t.n == nil }

// IsLoaded tells whether no part of the text is a stored one.
func (t Text) IsLoaded() bool { return t.n == nil || !t.n.loads }
