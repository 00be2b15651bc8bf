package engine

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Bounds of the notes of one step: they stand in the state until it ends.
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
func CheckNote(notes []Note, key string, v Value) error {
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

func (r *Run) checkNote(d FuncNote) error {
	if err := r.checkCall(d.ID); err != nil {
		return err
	}
	_, c := r.openCall(d.ID, callFunc)
	if c == nil || c.State != callOpen {
		return fmt.Errorf("%w: %q", ErrNoteLate, d.ID)
	}
	if checkValues(d.ID, d.Value) != nil {
		return fmt.Errorf("%w: the value of key %q is not JSON", ErrNote, d.Key)
	}
	return CheckNote(r.step(c.Step).Notes, d.Key, noteValue(d.Value))
}

func (r *Run) handleNote(d FuncNote) {
	key, c := r.openCall(d.ID, callFunc)
	r.emitStep(c.Step, &FuncNoted{Call: key, Attempt: c.Attempt, Key: d.Key, Value: noteValue(d.Value)})
}

// noteValue is a value as it is kept: compact, and nil for null.
func noteValue(v Value) Value {
	if v = event.Compact(v); string(v) == "null" {
		return nil
	}
	return v
}

// checkFuncNoted tells why a stored note cannot be taken: its call must be out, and its step must have room for it.
func (r *Run) checkFuncNoted(ev *Event, d *FuncNoted) string {
	c := r.s.Calls[d.Call]
	switch {
	case c == nil || c.Kind != callFunc || c.Step != ev.Step:
		return "call " + d.Call + " does not exist"
	case c.Attempt != d.Attempt || c.State != callOpen:
		return "call " + d.Call + " is not open"
	}
	if err := CheckNote(r.step(c.Step).Notes, d.Key, d.Value); err != nil {
		return err.Error()
	}
	return ""
}

func (r *Run) applyFuncNoted(ev *Event, d *FuncNoted) {
	st := r.step(ev.Step)
	st.Notes = append(st.Notes, Note{Key: d.Key, Value: d.Value})
}
