package definition

import (
	"context"
	"errors"

	"github.com/hocket-run/hocket/internal/catalog"
)

// Visible returns the stored workflows by id, as seen by callers who may or may not see drafts:
// without drafts it returns only published workflows, without draft numbers.
func (c *Catalog) Visible(ctx context.Context, drafts bool) ([]catalog.Entry, error) {
	entries, err := c.stored.Entries(ctx)
	if err != nil || drafts {
		return entries, err
	}
	var out []catalog.Entry
	for _, e := range entries {
		if e.Published != 0 || e.HasRows {
			out = append(out, published(e))
		}
	}
	return out, nil
}

// published returns the entry without its draft.
func published(e catalog.Entry) catalog.Entry {
	e.Draft = 0
	return e
}

// VisibleEntry returns one entry of Visible. It returns a *NotFoundError, whose hint names only
// visible workflows.
func (c *Catalog) VisibleEntry(ctx context.Context, id string, drafts bool) (catalog.Entry, error) {
	switch e, err := c.stored.Entry(ctx, id); {
	case err != nil && !errors.Is(err, catalog.ErrNotFound):
		return e, err
	case err == nil && drafts:
		return e, nil
	case err == nil && (e.Published != 0 || e.HasRows):
		return published(e), nil
	}
	entries, err := c.Visible(ctx, drafts)
	if err != nil {
		return catalog.Entry{}, err
	}
	return EntryOf(entries, id)
}
