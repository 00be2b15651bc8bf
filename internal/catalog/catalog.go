package catalog

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// ErrNotFound is returned when there is no such workflow, version or agent.
var ErrNotFound = errors.New("not found")

// TextError is returned when a store cannot store a string; nothing was stored. PostgreSQL stores
// only valid UTF-8 without NUL; SQLite stores any string.
type TextError struct {
	// Column is the column for the string, such as `agent_workflow_nodes.prompt`.
	Column string
	// Reason is the reason, such as `has a NUL character, which PostgreSQL does not store`.
	Reason string
}

func (e *TextError) Error() string { return "the text of " + e.Column + " " + e.Reason }

// ErrChanged is returned when the stored workflows are not in the state that the caller expected;
// nothing was changed.
var ErrChanged = errors.New("stored workflows have changed")

// FormatRoutes is the format whose published documents are stored as rows.
const FormatRoutes = "routes"

// Entry is a stored workflow without its documents.
type Entry struct {
	ID string
	// Name and Format are taken from the rows if the published workflow consists of rows, otherwise
	// from the published version, or else from the draft.
	Name, Format string
	// Published and Draft are version numbers; 0 means none. They are never equal unless both are
	// 0.
	Published, Draft int
	// HasRows is set if the table agent_workflows contains the id, whichever program wrote it.
	HasRows bool
	// Updated is the time when a version was last stored or published, in UTC with microseconds; it
	// is zero if there is none.
	Updated time.Time
	// Labels are the labels of the document that Name is taken from; rows have none. Nil and empty
	// are equivalent.
	Labels workflow.Labels
}

// Equal reports whether e and o are equal.
func (e Entry) Equal(o Entry) bool {
	return e.ID == o.ID && e.Name == o.Name && e.Format == o.Format && e.Published == o.Published &&
		e.Draft == o.Draft && e.HasRows == o.HasRows &&
		e.Updated.Equal(o.Updated) && maps.Equal(e.Labels, o.Labels)
}

// Version is a stored document.
type Version struct {
	Workflow string
	Number   int // from 1
	// Format is the format of the text, Name the workflow's name, which may be empty, and File the
	// name of the document at its source.
	Format, Name, File string
	// Digest is the digest of the graph when the version was stored.
	Digest  string
	Text    []byte
	Created time.Time // UTC, microseconds
	// Labels are the valid top-level labels of the document.
	Labels workflow.Labels
}

// Put is a document to store. Format, Name, File, Digest, Text and Labels have the same meaning as
// in Version.
type Put struct {
	ID                         string
	Format, Name, File, Digest string
	Text                       []byte
	Labels                     workflow.Labels
	// Draft stores the document as a draft and leaves the published version unchanged.
	Draft bool
	// Rows are the rows of a published routes document; nil for all other documents. Existing rows
	// are updated, and rows that are not in Rows are deleted; with Replace, all existing rows are
	// deleted first (S3-20). If Rows is nil and the document is published, the rows of the id are
	// deleted.
	Rows    *Rows
	Replace bool
	At      time.Time
	// Expect is the tag that the workflow must have, or TagAbsent; "" means any state.
	Expect string
}

// Stored is the result of a Put or a Publication.
type Stored struct {
	Entry Entry
	// Tag is the tag of the workflow after the change, read in the same transaction; see [Tag].
	Tag string
	// Version is the version that holds the text.
	Version int
	// Unchanged is set if the workflow already had this state.
	Unchanged bool
}

// Publication makes a version the published one. If the version is the draft, there is no draft
// afterwards.
type Publication struct {
	ID      string
	Version int
	Rows    *Rows // as in Put
	At      time.Time
	Expect  string // as in Put
}

// Workflows stores workflows. It is safe for concurrent use, and for use by several processes if
// the medium allows it. The caller keeps ownership of the slices it passes and owns the slices it
// receives.
type Workflows interface {
	// Put stores documents in order, all or none, and with them agents, if any; agents are changed
	// as by PutAgents.
	//
	// A document is published unless it is a draft. Storing the text of the published version again
	// creates no new version; nor does storing the text of the draft, which is published in that
	// case. A draft with the text of the present draft, or of the published version if there is no
	// draft, creates no new version either.
	//
	// The error is ErrChanged if a workflow is not in the state that Put.Expect requires, or a
	// *TextError.
	Put(ctx context.Context, puts []Put, agents []Row) ([]Stored, error)
	// Publish publishes a version. The error is ErrNotFound, ErrChanged or a *TextError.
	Publish(ctx context.Context, p Publication) (Stored, error)
	// Entry returns one workflow, or ErrNotFound.
	Entry(ctx context.Context, id string) (Entry, error)
	// Entries returns all workflows, sorted by id.
	Entries(ctx context.Context) ([]Entry, error)
	// Rows returns the rows of a workflow, or ErrNotFound.
	Rows(ctx context.Context, id string) (Rows, error)
	// Delete deletes a workflow with all its versions and rows, including rows of nodes and edges
	// without a workflow, if it has the tag expect; "" means any tag. The error is ErrNotFound or
	// ErrChanged.
	Delete(ctx context.Context, id, expect string) error
}

// Versions reads the versions of workflows. The rules of Workflows for concurrency and slices
// apply.
type Versions interface {
	// Versions returns the versions of a workflow from first to last, without their texts; none if
	// there are only rows.
	Versions(ctx context.Context, id string) ([]Version, error)
	// Version returns a version with its text. The error is ErrNotFound, or a *journal.CorruptError
	// if the text differs from what was stored.
	Version(ctx context.Context, id string, number int) (Version, error)
}

// Agents stores agents by their columns (AgentColumns). The rules of Workflows for concurrency and
// slices apply.
type Agents interface {
	// PutAgents updates existing agents and adds the others, all or none. With replace, the
	// existing rows are deleted first, so that values that other programs wrote into their own
	// columns are removed too. expect maps ids to the tags that the agents must have, or to
	// TagAbsent; nil means no expectations. The error is ErrChanged or a *TextError.
	PutAgents(ctx context.Context, agents []Row, replace bool, expect map[string]string) error
	// Agents returns all agents, sorted by id.
	Agents(ctx context.Context) ([]Row, error)
	// DeleteAgent deletes an agent if may returns true; a nil may means always. may is called in
	// the same transaction with the entries of all workflows sorted by id; it must not call the
	// store, and may be called twice. expect is the tag that the agent must have; "" means any tag.
	// The error is ErrNotFound, or ErrChanged if may returned false or the tag differs.
	DeleteAgent(ctx context.Context, id, expect string, may func(entries []Entry) bool) error
}

// Layouts stores the node positions that people set: one text per workflow, in a form defined by
// the caller, independent of its versions (P39). The rules of Workflows for concurrency and slices
// apply.
type Layouts interface {
	// Layout returns the layout of a workflow, or nil if none is stored. The error is ErrNotFound
	// if there is no such workflow.
	Layout(ctx context.Context, id string) ([]byte, error)
	// PutLayout stores the layout of a workflow if the present one has the tag expect (LayoutTag);
	// "" means any tag. It creates no new version of the workflow. Deleting the workflow deletes
	// its layout. The error is ErrNotFound or ErrChanged.
	PutLayout(ctx context.Context, id string, text []byte, expect string) error
}

// Store is a whole catalog.
type Store interface {
	Workflows
	Versions
	Agents
	Layouts
}

// Change is the effect of a Put on the versions of a workflow.
type Change struct {
	Published, Draft int
	// Version is the version that holds the text; IsNew is set if it must be stored.
	Version int
	IsNew   bool
}

// Plan determines the effect of a Put on a workflow with these versions; says reports whether a
// version has the text. All stores use it.
func Plan(draft bool, published, drafted, latest int, says func(version int) bool) Change {
	c := Change{Published: published, Draft: drafted}
	switch {
	case drafted != 0 && says(drafted):
		c.Version = drafted
	case published != 0 && says(published) && (!draft || drafted == 0):
		c.Version = published
	default:
		c.Version, c.IsNew = latest+1, true
	}
	switch {
	case !draft:
		c.Published = c.Version
		if c.Draft == c.Version {
			c.Draft = 0
		}
	case c.Version != published:
		c.Draft = c.Version
	}
	return c
}
