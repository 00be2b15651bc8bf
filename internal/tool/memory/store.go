package memory

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Errors returned by stores.
var (
	// ErrNone is returned when the space has no entry with that ID.
	ErrNone = errors.New("there is no such memory")
	// ErrFull is returned when the space has MaxEntries entries.
	ErrFull = errors.New("the memory is full")
)

// MaxEntries is the maximum number of entries of one space.
const MaxEntries = 5000

// Entry is one memory. The store assigns ID and never reuses it; At is when the entry was last
// written, in UTC with a resolution of seconds.
type Entry struct {
	ID       string    `json:"id"`
	Category string    `json:"category,omitempty"`
	Text     string    `json:"memory"`
	At       time.Time `json:"at"`
}

// Store stores entries by space. Each call reaches only the entries of its own space.
// Implementations are safe for concurrent use.
type Store interface {
	// Add stores an entry and returns its ID; e.ID is ignored. If the key was used in the space
	// before, Add returns the ID of its entry and changes nothing. It returns ErrFull or an error
	// of the store.
	Add(ctx context.Context, space, key string, e Entry) (id string, err error)
	// All returns the entries in the order in which they were added.
	All(ctx context.Context, space string) ([]Entry, error)
	// Change replaces the entry with the ID e.ID. It returns ErrNone or an error of the store.
	Change(ctx context.Context, space string, e Entry) error
	// Remove deletes an entry. It returns ErrNone or an error of the store.
	Remove(ctx context.Context, space, id string) error
}

// Kept is a Store that keeps entries in memory. The zero value is empty and ready to use.
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
