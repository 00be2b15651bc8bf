package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrNote: a note has an invalid key or value, is a duplicate, or exceeds a limit. The text says which.
var ErrNote = errors.New("note refused")

// Note is what a sub-step of a function gave. A nil Value is null.
type Note struct {
	Key   string
	Value json.RawMessage
}

// Bounds of the notes of one step, which the state has until the step ends.
const (
	// MaxNoteKey bounds a key, in bytes.
	MaxNoteKey = 256
	// MaxNotes bounds their number.
	MaxNotes = 1000
	// MaxNoteBytes bounds all their values together.
	MaxNoteBytes = 16 << 20
)

// CheckNoteKey tells why a key cannot name a note; nil where it can. The error matches ErrNote.
func CheckNoteKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty", ErrNote)
	case len(key) > MaxNoteKey:
		return fmt.Errorf("%w: the key has %d bytes; at most %d are allowed", ErrNote, len(key), MaxNoteKey)
	case !utf8.ValidString(key) || strings.ContainsRune(key, 0):
		return fmt.Errorf("%w: the key is not UTF-8 text", ErrNote)
	}
	return nil
}

// CheckNote tells why a note cannot join those that a step has; nil where it can. The error matches ErrNote.
func CheckNote(notes []Note, key string, v json.RawMessage) error {
	if err := CheckNoteKey(key); err != nil {
		return err
	}
	size := len(v)
	for i := range notes {
		if notes[i].Key == key {
			return fmt.Errorf("%w: duplicate key %q", ErrNote, key)
		}
		size += len(notes[i].Value)
	}
	switch {
	case len(notes) >= MaxNotes:
		return fmt.Errorf("%w: one execution of a node may have at most %d", ErrNote, MaxNotes)
	case size > MaxNoteBytes:
		return fmt.Errorf("%w: the values of this execution would have %d bytes; at most %d are allowed", ErrNote, size, MaxNoteBytes)
	}
	return nil
}
