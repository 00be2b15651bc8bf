package enginetest

import (
	"crypto/sha256"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine"
)

// Store holds texts by their SHA-256, in the place of a journal.
type Store map[[sha256.Size]byte]string

// Release takes the texts that a run has made since it was called last: from now on they are loaded.
func (s Store) Release(r *engine.Run) {
	for _, t := range r.TakeStored() {
		sum := t.Text().Sum()
		s[sum] = t.Text().String()
		t.Release(func() (string, error) {
			v, ok := s[sum]
			if !ok {
				return "", fmt.Errorf("text %x is gone", sum[:4])
			}
			return v, nil
		})
	}
}
