package embedded

import (
	"slices"

	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/journal"
)

// releaseStored lets large texts leave memory after an append that is durable: those of the append before it, since what follows from a text is mostly a call that needs it.
func (a *actor) releaseStored(ap journal.Append) {
	for _, fn := range a.releases {
		fn()
	}
	a.releases = nil
	if len(ap.Blobs) == 0 {
		return // nothing that could be loaded again
	}
	a.releases = held.Releases(a.run, a.loadText, func(hash string) bool {
		return slices.ContainsFunc(ap.Blobs, func(b journal.Blob) bool { return b.Hash == hash })
	})
}

// loadText gives a text of the run that the journal holds. A store that does not answer is asked until it does, or the run is interrupted.
func (a *actor) loadText(hash string) (s string, err error) {
	err = a.persist("read value", func() error {
		s, err = held.LoadText(a.d.root, a.d.cfg.Store, a.id, hash)
		return err
	})
	return s, err
}
