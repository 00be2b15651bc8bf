package definition

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Document is the text of a document and its name at its source.
type Document struct {
	File string
	Data []byte
}

// ApplyRequest specifies what to store.
type ApplyRequest struct {
	Documents []Document
	// ID is the id of a document that has none of its own; "" means the name of its file.
	ID string
	// LoadOptions specify how documents are read. Agents of AgentsFile are stored too.
	LoadOptions
	// Draft stores drafts and publishes nothing; Replace deletes rows before they are written
	// (S3-20).
	Draft, Replace bool
	// Expect is the tag that the workflow of the only document must have (Definition.Tag), or
	// catalog.TagAbsent; "" means any.
	Expect string
}

// Applied is the result of a request.
type Applied struct {
	Workflows []catalog.Stored
	Agents    []string // ids of the agents stored along with them
}

// Apply stores documents in the catalog, and publishes them. All are checked first: if any has an
// error, nothing is stored, and the list contains the reason (S1-22). The agents that a document
// names must be defined in it, by the program, in AgentsFile or in the catalog.
//
// The error is for failures that no document causes: a *ChangedError if the workflow does not match
// Expect.
func (c *Catalog) Apply(ctx context.Context, q ApplyRequest) (Applied, diag.List, error) {
	var done Applied
	if (q.ID != "" || q.Expect != "") && len(q.Documents) > 1 {
		return done, nil, failure.Refuse(errcode.SeveralDocuments, errcode.Fields{"count": len(q.Documents)}, nil)
	}
	q.LoadOptions = c.known(q.LoadOptions)
	if q.AgentsFile != "" && q.AgentsText == nil {
		text, err := ReadFile(q.AgentsFile, q.Stdin)
		if err != nil {
			return done, nil, err
		}
		q.AgentsText = text
	}
	extra, problems, err := q.agents()
	if err != nil {
		return done, nil, err
	}
	problems = append(problems, storedIDs(q.AgentsFile, q.AgentsText)...)
	var puts []catalog.Put
	now, taken := time.Now(), map[string]string{}
	for _, d := range q.Documents {
		p, list, err := q.put(ctx, d, withoutIDs(extra, q.Agents))
		if err != nil {
			return done, nil, err
		}
		if other, ok := taken[p.ID]; ok && p.ID != "" {
			list.Errorf(diag.Span{File: d.File}, "id", "same-id", "duplicate id %q, also used by %s", p.ID, other)
		}
		taken[p.ID] = d.File
		list.Sort()
		problems = append(problems, list...)
		p.At = now
		puts = append(puts, p)
	}
	if problems.HasErrors() {
		return done, problems, nil
	}
	rows := make([]catalog.Row, len(extra))
	for i, a := range extra {
		if rows[i], err = agentRow(a); err != nil {
			return done, nil, err
		}
		done.Agents = append(done.Agents, a.ID)
	}
	done.Workflows, err = c.stored.Put(ctx, puts, rows)
	c.watchers.changed()
	if len(puts) == 1 {
		err = failure.Changed("workflow", puts[0].ID, err)
	}
	return done, problems, err
}

// put reads one document.
func (q ApplyRequest) put(ctx context.Context, d Document, extra []workflow.Agent) (catalog.Put, diag.List, error) {
	p := catalog.Put{File: filepath.Base(d.File), Text: d.Data, Draft: q.Draft, Replace: q.Replace, Expect: q.Expect}
	if d.File == "" {
		p.File = ""
	}
	w, problems, err := read(ctx, d.File, d.Data, q.LoadOptions, extra)
	if err != nil {
		return p, nil, err
	}
	if w == nil || problems.HasErrors() {
		return p, problems, nil
	}
	if own := ownID(d.File, d.Data); own.HasErrors() {
		return p, append(problems, own...), nil
	}
	if p.ID = workflowID(w.ID, q.ID, d.File, &problems); p.ID == "" {
		return p, problems, nil
	}
	p.Format, p.Name, p.Labels = w.Format, w.Name, w.Labels
	w.ID = p.ID
	if p.Digest, err = w.Digest(); err != nil {
		return p, nil, fmt.Errorf("digest of %s: %w", d.File, err)
	}
	if w.Format == catalog.FormatRoutes && !q.Draft {
		p.Rows = rowsOf(p)
	}
	return p, problems, nil
}

// rowsOf returns the rows of a document that was read without errors.
func rowsOf(p catalog.Put) *catalog.Rows {
	root, _ := source.Parse(p.File, p.Text)
	rows := catalog.FromDocument(root, p.ID)
	return &rows
}

// workflowID returns the id under which a document is stored: its own, else the given one, else the
// name of its file. It is "" after an error.
func workflowID(own, given, file string, problems *diag.List) string {
	refused := func(format string, args ...any) *diag.Diagnostic {
		return problems.Errorf(diag.Span{File: file}, "id", codeID, format, args...)
	}
	if own != "" && given != "" && own != given {
		refused("the document has the id %q, and the request names %q", own, given).Advise(diag.SameID)
		return ""
	}
	if id := cmp.Or(own, given); id != "" {
		if err := catalog.CheckID(id); err != nil {
			refused("%v", err)
			return ""
		}
		return id
	}
	if file == "" {
		refused("the document has no id; give it one")
		return ""
	}
	base := filepath.Base(file)
	id := strings.Trim(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, strings.TrimSuffix(base, filepath.Ext(base))), "-.")
	if catalog.CheckID(id) != nil {
		refused("the document has no id, and its name is not usable as one").Advise(diag.GiveID)
		return ""
	}
	return id
}

// Publish makes a version of a stored workflow the one that runs, or the draft if number is 0. The
// version is checked against the current state, like an applied one.
func (c *Catalog) Publish(ctx context.Context, id string, number int) (catalog.Entry, diag.List, error) {
	st, problems, err := c.PublishIf(ctx, id, number, "")
	return st.Entry, problems, err
}

// PublishIf is Publish if the workflow has the tag expect; "" means any. It also returns a
// *ChangedError.
func (c *Catalog) PublishIf(ctx context.Context, id string, number int, expect string) (
	st catalog.Stored, problems diag.List, err error) {
	e, err := c.Entry(ctx, id)
	if err != nil {
		return st, nil, err
	}
	if number == 0 {
		if number = e.Draft; number == 0 {
			return st, nil, failure.Refuse(errcode.WorkflowNoDraft, errcode.Fields{"id": id}, nil)
		}
	}
	v, err := c.version(ctx, id, number)
	if err != nil {
		return st, nil, err
	}
	// as in LoadStored
	q := ApplyRequest{LoadOptions: c.known(LoadOptions{Format: v.Format, AllowUnknown: true}), ID: id}
	p, problems, err := q.put(ctx, Document{File: v.File, Data: v.Text}, nil)
	if err != nil || problems.HasErrors() {
		return st, problems, err
	}
	st, err = c.stored.Publish(ctx, catalog.Publication{ID: id, Version: number, Rows: p.Rows, At: time.Now(),
		Expect: expect})
	c.watchers.changed()
	return st, problems, failure.Changed("workflow", id, err)
}
