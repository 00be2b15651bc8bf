package embedded

import (
	"slices"

	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/journal"
)

// releaseStored is called once ap is durable. It frees the large strings of the append before ap,
// not those of ap, since an output is usually followed by a call that needs it.
func (a *actor) releaseStored(ap journal.Append) {
	for _, fn := range a.releases {
		fn()
	}
	a.releases = nil
	if len(ap.Blobs) == 0 {
		return // nothing that could be reloaded
	}
	a.releases = held.Releases(a.run, a.loadText, func(hash string) bool {
		return slices.ContainsFunc(ap.Blobs, func(b journal.Blob) bool { return b.Hash == hash })
	})
}

// loadText returns a string of the run from the journal. If the store does not respond, loadText
// retries until it does or the run is interrupted.
func (a *actor) loadText(hash string) (s string, err error) {
	err = a.persist("read value", func() error {
		s, err = held.LoadText(a.d.root, a.d.cfg.Store, a.id, hash)
		return err
	})
	return s, err
}
