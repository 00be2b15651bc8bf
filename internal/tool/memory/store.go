package memory

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Errors of stores.
var (
	// ErrNone: the space has no entry of that id.
	ErrNone = errors.New("there is no such memory")
	// ErrFull: the space has MaxEntries entries.
	ErrFull = errors.New("the memory is full")
)

// MaxEntries bounds the entries of one space.
const MaxEntries = 5000

// Entry is one thing that was remembered. ID is given by the store and never used again; At is when it was written last, UTC, in seconds.
type Entry struct {
	ID       string    `json:"id"`
	Category string    `json:"category,omitempty"`
	Text     string    `json:"memory"`
	At       time.Time `json:"at"`
}

// Store keeps entries by space. Every call reaches the entries of its space alone. Safe for concurrent use.
type Store interface {
	// Add keeps an entry and gives its id; e.ID is not read. A key that the space has had gives the id of its entry and changes nothing. Errors:
	// ErrFull; those of the store.
	Add(ctx context.Context, space, key string, e Entry) (id string, err error)
	// All gives the entries, those that were added first before others.
	All(ctx context.Context, space string) ([]Entry, error)
	// Change replaces the entry of e.ID. Errors: ErrNone; those of the store.
	Change(ctx context.Context, space string, e Entry) error
	// Remove forgets an entry. Errors: ErrNone; those of the store.
	Remove(ctx context.Context, space, id string) error
}

// Kept keeps entries as long as it lives. The zero value is empty and ready.
type Kept struct {
	mu     sync.Mutex
	spaces map[string][]kept
	last   int
}

type kept struct {
	key   string
	entry Entry
}

// Add implements Store.
func (k *Kept) Add(_ context.Context, space, key string, e Entry) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range k.spaces[space] {
		if one.key == key {
			return one.entry.ID, nil
		}
	}
	if len(k.spaces[space]) >= MaxEntries {
		return "", ErrFull
	}
	if k.spaces == nil {
		k.spaces = map[string][]kept{}
	}
	k.last++
	e.ID = strconv.Itoa(k.last)
	k.spaces[space] = append(k.spaces[space], kept{key, e})
	return e.ID, nil
}

// All implements Store.
func (k *Kept) All(_ context.Context, space string) ([]Entry, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []Entry
	for _, one := range k.spaces[space] {
		out = append(out, one.entry)
	}
	return out, nil
}

// Change implements Store.
func (k *Kept) Change(_ context.Context, space string, e Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := k.find(space, e.ID)
	if i < 0 {
		return ErrNone
	}
	k.spaces[space][i].entry = e
	return nil
}

// Remove implements Store.
func (k *Kept) Remove(_ context.Context, space, id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := k.find(space, id)
	if i < 0 {
		return ErrNone
	}
	k.spaces[space] = slices.Delete(k.spaces[space], i, i+1)
	return nil
}

func (k *Kept) find(space, id string) int {
	return slices.IndexFunc(k.spaces[space], func(one kept) bool { return one.entry.ID == id })
}
