package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrNote is returned when a note has an invalid key or value, is a duplicate, or exceeds a limit.
// The error text says which.
var ErrNote = errors.New("note refused")

// Note is the result of a sub-step of a function. A nil Value is null.
type Note struct {
	Key   string
	Value json.RawMessage
}

// Limits on the notes of one step, which stay in the state until the step ends.
const (
	// MaxNoteKey is the maximum length of a key in bytes.
	MaxNoteKey = 256
	// MaxNotes is the maximum number of notes.
	MaxNotes = 1000
	// MaxNoteBytes is the maximum total size of all values in bytes.
	MaxNoteBytes = 16 << 20
)

// CheckNoteKey returns why a key cannot name a note, or nil if it can. The error matches ErrNote.
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

// CheckNote returns why a note cannot be added to a step's notes, or nil if it can. The error
// matches ErrNote.
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
		return fmt.Errorf("%w: the values of this execution would have %d bytes; at most %d are allowed", ErrNote, size,
			MaxNoteBytes)
	}
	return nil
}
