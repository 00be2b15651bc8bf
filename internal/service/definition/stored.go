package definition

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Which selects one of a workflow's documents; the zero Which is the published one.
type Which struct {
	// Draft selects the draft; Version, unless it is 0, a specific version.
	Draft   bool
	Version int
}

// Definition is a document of the catalog.
type Definition struct {
	Entry catalog.Entry
	// Version is the version number; 0 if the document consists of rows that belong to no version.
	Version int
	Format  string
	// File is the name of the document in messages; Text is the stored text, byte for byte, or a
	// document generated from rows that belong to no version.
	File string
	Text []byte
	// Changed means that other programs changed rows since the published version, or wrote all of
	// them.
	Changed bool
	// Tag identifies the current state of the workflow, whichever of its documents this is; see
	// catalog.Tag.
	Tag string

	rows  []byte // the document that runs, if the workflow consists of rows
	lines catalog.Lines
}

// Entry returns a stored workflow without documents, or a *NotFoundError.
func (c *Catalog) Entry(ctx context.Context, id string) (catalog.Entry, error) {
	e, err := c.stored.Entry(ctx, id)
	if !errors.Is(err, catalog.ErrNotFound) {
		return e, err
	}
	entries, err := c.stored.Entries(ctx)
	if err != nil {
		return e, err
	}
	return EntryOf(entries, id)
}

// EntryOf returns the workflow with an id among all stored ones, or a *NotFoundError.
func EntryOf(entries []catalog.Entry, id string) (catalog.Entry, error) {
	ids := make([]string, len(entries))
	for i, e := range entries {
		if ids[i] = e.ID; e.ID == id {
			return e, nil
		}
	}
	return catalog.Entry{}, &failure.NotFoundError{What: "Workflow", ID: id, Hint: diag.DidYouMean(id, ids)}
}

// Entries returns all stored workflows by id.
func (c *Catalog) Entries(ctx context.Context) ([]catalog.Entry, error) { return c.stored.Entries(ctx) }

// Versions returns the versions of a stored workflow, without their documents, or a *NotFoundError.
func (c *Catalog) Versions(ctx context.Context, id string) ([]catalog.Version, error) {
	if _, err := c.Entry(ctx, id); err != nil {
		return nil, err
	}
	return c.stored.Versions(ctx, id)
}

func (c *Catalog) version(ctx context.Context, id string, number int) (catalog.Version, error) {
	v, err := c.stored.Version(ctx, id, number)
	if errors.Is(err, catalog.ErrNotFound) {
		return v, &failure.NotFoundError{What: "Version", ID: fmt.Sprintf("%d of workflow %s", number, id)}
	}
	return v, err
}

// Definition returns a document of the catalog. It returns a *NotFoundError, or an *InvalidError if
// the workflow has no such document.
func (c *Catalog) Definition(ctx context.Context, id string, which Which) (Definition, error) {
	e, err := c.Entry(ctx, id)
	for err == nil {
		d, derr := c.definition(ctx, e, which)
		// Another process may have stored a document between two reads; rows and text would then
		// not match.
		var now catalog.Entry
		if now, err = c.Entry(ctx, id); err == nil && now.Equal(e) {
			return d, derr
		}
		e = now
	}
	return Definition{}, err
}

func (c *Catalog) definition(ctx context.Context, e catalog.Entry, which Which) (Definition, error) {
	id := e.ID
	number := cmp.Or(which.Version, e.Published)
	if which.Draft {
		if number = e.Draft; number == 0 {
			return Definition{Entry: e}, failure.Refuse(errcode.WorkflowNoDraft, errcode.Fields{"id": id}, nil)
		}
	}
	live := !which.Draft && which.Version == 0
	d := Definition{Entry: e, Version: number, Format: e.Format}
	var rows *catalog.Rows
	if e.HasRows {
		r, err := c.stored.Rows(ctx, id)
		if err != nil {
			return d, err
		}
		rows = &r
	}
	d.Tag = catalog.Tag(e, rows)
	switch {
	case live && e.HasRows && number > 0 && e.Format != catalog.FormatRoutes:
		return d, failure.Refuse(errcode.WorkflowTwoSources, errcode.Fields{"id": id, "format": e.Format}, nil)
	case live && e.HasRows:
		return c.ofRows(ctx, d, *rows)
	case live && number == 0:
		return d, failure.Refuse(errcode.WorkflowDraftOnly, errcode.Fields{"id": id}, nil)
	case live && e.Format == catalog.FormatRoutes:
		return d, failure.Refuse(errcode.WorkflowRowsDeleted, errcode.Fields{"id": id, "version": number}, nil)
	}
	v, err := c.version(ctx, id, number)
	d.Format, d.File, d.Text = v.Format, v.File, v.Text
	return d, err
}

// ofRows completes the definition of a workflow that consists of rows.
func (c *Catalog) ofRows(ctx context.Context, d Definition, rows catalog.Rows) (Definition, error) {
	d.Format, d.Changed = catalog.FormatRoutes, true
	d.rows, d.lines = rows.Document()
	d.File, d.Text = d.lines.File(), d.rows
	if d.Version > 0 {
		v, err := c.version(ctx, d.Entry.ID, d.Version)
		if err != nil {
			return d, err
		}
		if root, _ := source.Parse(v.File, v.Text); root != nil &&
			catalog.FromDocument(root, d.Entry.ID).Normal().Equal(rows) {
			d.File, d.Text, d.Changed = v.File, v.Text, false
		}
	}
	if d.Changed {
		d.Version = 0
	}
	return d, nil
}

// LoadStored loads a document of the catalog as Load loads files, with the catalog's agents after
// those of opts. Problems in rows name the rows. Unknown keys are warnings: whether they are
// allowed was decided when the document was stored. The errors are those of Definition.
func (c *Catalog) LoadStored(ctx context.Context, id string, which Which, opts LoadOptions) (
	*workflow.Workflow, Definition, diag.List, error) {
	d, err := c.Definition(ctx, id, which)
	if err != nil {
		return nil, d, nil, err
	}
	opts = c.known(opts)
	extra, problems, err := opts.agents() // the caller's file
	opts.AllowUnknown = true
	if err != nil {
		return nil, d, nil, err
	}
	w, more, err := c.readStored(ctx, d, opts, withoutIDs(extra, opts.Agents))
	return w, d, slices.Concat(problems, more, opts.RetiredModels(w)), err
}

func (c *Catalog) readStored(ctx context.Context, d Definition, opts LoadOptions, extra []workflow.Agent) (
	*workflow.Workflow, diag.List, error) {
	file, text := d.File, d.Text
	if d.rows != nil {
		file, text = d.lines.File(), d.rows
	}
	opts.Format = d.Format
	w, problems, err := read(ctx, file, text, opts, extra)
	if d.rows != nil {
		problems = d.lines.Locate(problems)
	}
	if w != nil {
		w.ID = d.Entry.ID
		w.Name = cmp.Or(w.Name, d.Entry.ID)
	}
	return w, problems, err
}

// Layout returns the node positions of a stored workflow, as its transport wrote them, with their
// tag; nil if none are stored. It returns a *NotFoundError if there is no such workflow.
func (c *Catalog) Layout(ctx context.Context, id string) (text []byte, tag string, err error) {
	if _, err := c.Entry(ctx, id); err != nil {
		return nil, "", err
	}
	text, err = c.stored.Layout(ctx, id)
	return text, catalog.LayoutTag(text), err
}

// PutLayout stores a layout if the current one has the tag expect, "" meaning any, and returns its
// tag. It creates no version. It returns a *NotFoundError or a *ChangedError.
func (c *Catalog) PutLayout(ctx context.Context, id string, text []byte, expect string) (tag string, err error) {
	if _, err := c.Entry(ctx, id); err != nil {
		return "", err
	}
	return catalog.LayoutTag(text), failure.Changed("layout of workflow", id, c.stored.PutLayout(ctx, id, text, expect))
}

// DeleteWorkflow deletes a stored workflow with all versions and rows. Its runs keep their
// definition (D19). It returns a *NotFoundError if there is no such workflow.
func (c *Catalog) DeleteWorkflow(ctx context.Context, id string) error {
	return c.DeleteWorkflowIf(ctx, id, "")
}

// DeleteWorkflowIf is DeleteWorkflow if the workflow has the tag expect; "" means any. It also
// returns a *ChangedError.
func (c *Catalog) DeleteWorkflowIf(ctx context.Context, id, expect string) error {
	if _, err := c.Entry(ctx, id); err != nil {
		return err
	}
	defer c.watchers.changed()
	return failure.Changed("workflow", id, c.stored.Delete(ctx, id, expect))
}
