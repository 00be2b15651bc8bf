package catalog

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/hocket-run/hocket/workflow"
)

// ErrNotFound says that there is no such workflow, version or agent.
var ErrNotFound = errors.New("not found")

// TextError says that a store cannot keep a text; nothing was stored. PostgreSQL has no NUL and only valid UTF-8; SQLite keeps any text.
type TextError struct {
	// Column is where the text would be: `agent_workflow_nodes.prompt`.
	Column string
	// Reason is such as `has a NUL character, which PostgreSQL does not store`.
	Reason string
}

func (e *TextError) Error() string { return "the text of " + e.Column + " " + e.Reason }

// ErrChanged says that the stored workflows are not those that the caller knew of; nothing was done.
var ErrChanged = errors.New("stored workflows have changed")

// FormatRoutes is the format whose published documents are rows.
const FormatRoutes = "routes"

// Entry is a stored workflow without its documents.
type Entry struct {
	ID string
	// Name and Format are those of the rows, where rows are what is published, else of the published version, else of the draft.
	Name, Format string
	// Published and Draft are numbers of versions; 0: none. They are never equal but for 0.
	Published, Draft int
	// HasRows tells that the table agent_workflows has the id, written by any program.
	HasRows bool
	// Updated is when a version was stored or published last, UTC in microseconds; zero where there is none.
	Updated time.Time
	// Labels are those of the document that Name is of; rows have none. Nil and empty are the same.
	Labels workflow.Labels
}

// Equal tells whether both say the same.
func (e Entry) Equal(o Entry) bool {
	return e.ID == o.ID && e.Name == o.Name && e.Format == o.Format && e.Published == o.Published && e.Draft == o.Draft && e.HasRows == o.HasRows &&
		e.Updated.Equal(o.Updated) && maps.Equal(e.Labels, o.Labels)
}

// Version is a document as it was stored.
type Version struct {
	Workflow string
	Number   int // from 1
	// Format is the language of the text; Name the workflow's name, which may be empty; File what the document was called where it came from.
	Format, Name, File string
	// Digest is that of the graph as it was read when the version was stored; "" where agents were missing then.
	Digest  string
	Text    []byte
	Created time.Time // UTC, microseconds
	// Labels are those that the document has at its top, valid ones.
	Labels workflow.Labels
}

// Put is a document to be stored. Format, Name, File, Digest, Text and Labels are those of Version.
type Put struct {
	ID                         string
	Format, Name, File, Digest string
	Text                       []byte
	Labels                     workflow.Labels
	// Draft stores the document as a draft and leaves what is published alone.
	Draft bool
	// Rows are those of a routes document that is published; nil for all others. Rows that are there are changed, those that Rows lacks are deleted; with
	// Replace all of them are deleted first (S3-20). Where Rows is nil and the document is published, rows of the id are deleted.
	Rows    *Rows
	Replace bool
	At      time.Time
	// Expect is the tag that the workflow must have, or TagAbsent; "": it may be anything.
	Expect string
}

// Stored says what became of a Put or a Publication.
type Stored struct {
	Entry Entry
	// Tag is that of the workflow as it was left, read with the change: see [Tag].
	Tag string
	// Version holds the text.
	Version int
	// Unchanged tells that everything was there already.
	Unchanged bool
}

// Publication makes a version the published one. If it is the draft, there is no draft any more.
type Publication struct {
	ID      string
	Version int
	Rows    *Rows // as in Put
	At      time.Time
	Expect  string // as in Put
}

// Workflows keeps workflows. Safe for concurrent use, by several processes too where the medium allows it. Slices handed in stay the caller's; slices
// given out are the caller's own.
type Workflows interface {
	// Put stores documents, in their order, all or none, and agents with them, which may be none; agents are changed as PutAgents does.
	//
	// A document is published, unless it is a draft: the text of the published version again makes no new version; nor does that of the draft, which is
	// published then. A draft with the text of the present draft, or of the published version where there is no draft, makes none either.
	//
	// Errors: ErrChanged where a workflow is not as Put.Expect says; *TextError.
	Put(ctx context.Context, puts []Put, agents []Row) ([]Stored, error)
	// Publish publishes a version. Errors: ErrNotFound, ErrChanged, *TextError.
	Publish(ctx context.Context, p Publication) (Stored, error)
	// Entry gives one workflow. Errors: ErrNotFound.
	Entry(ctx context.Context, id string) (Entry, error)
	// Entries gives all workflows by id.
	Entries(ctx context.Context) ([]Entry, error)
	// Versions gives the versions of a workflow from the first to the last, without their texts; none where there are only rows.
	Versions(ctx context.Context, id string) ([]Version, error)
	// Version gives a version with its text. Errors: ErrNotFound; *journal.CorruptError where the text is not what was stored.
	Version(ctx context.Context, id string, number int) (Version, error)
	// Rows gives the rows of a workflow. Errors: ErrNotFound.
	Rows(ctx context.Context, id string) (Rows, error)
	// Delete deletes a workflow with all versions and rows, rows of nodes and edges without a workflow too, if it has the tag expect; "" is any. Errors:
	// ErrNotFound, ErrChanged.
	Delete(ctx context.Context, id, expect string) error
}

// Agents keeps agents, by their columns (AgentColumns). As Workflows otherwise.
type Agents interface {
	// PutAgents changes the agents that are there and adds the others, all or none. With replace their rows are deleted first, so that what other
	// programs wrote into columns of their own goes with them. expect holds the tags that agents must have, by id, or TagAbsent; nil is none. Errors: ErrChanged, *TextError.
	PutAgents(ctx context.Context, agents []Row, replace bool, expect map[string]string) error
	// Agents gives all agents by id.
	Agents(ctx context.Context) ([]Row, error)
	// DeleteAgent deletes one, if may, called in the same transaction with the entries of all workflows by id, says so; nil says so always. may must not
	// call the store, and may be called twice. expect is the tag that it must have; "" is any. Errors: ErrNotFound; ErrChanged where may said no, or the tag
	// is another.
	DeleteAgent(ctx context.Context, id, expect string, may func(entries []Entry) bool) error
}

// Layouts keeps where people have put the nodes of workflows: one text for each workflow, of its caller's form, beside all its versions (P39). As Workflows otherwise.
type Layouts interface {
	// Layout gives that of a workflow; nil: none is stored. Errors: ErrNotFound where there is no such workflow.
	Layout(ctx context.Context, id string) ([]byte, error)
	// PutLayout stores that of a workflow, which gets no version by it, if the present one has the tag expect (LayoutTag); "" is any. Deleting the workflow deletes its layout. Errors: ErrNotFound, ErrChanged.
	PutLayout(ctx context.Context, id string, text []byte, expect string) error
}

// Store is a whole catalog.
type Store interface {
	Workflows
	Agents
	Layouts
}
