package view

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// Reader reads one run for one view. It is not safe for concurrent use.
type Reader struct {
	Head     journal.Head
	Workflow *workflow.Workflow

	src   Source
	run   string
	table *Table
	// queue holds the values that are written next, filled those whose content has been read for
	// that.
	queue  []*Ref
	filled []*Ref
	room   int
}

// Open starts reading a run. It returns the errors of Source.RunDefinition.
func Open(ctx context.Context, src Source, run string) (*Reader, error) {
	h, w, err := src.RunDefinition(ctx, run)
	if err != nil {
		return nil, err
	}
	return &Reader{Head: h, Workflow: w, src: src, run: run, table: NewTable(), room: fillBytes}, nil
}

// Room lets the reader hold more of the values that are kept in records: up to bytes while events
// are folded, and up to bytes while a view is written. Values that do not fit are read again, which
// takes time. Room must be called before anything is read.
func (r *Reader) Room(bytes int) { r.table.room, r.room = bytes, bytes }

// Each calls take with the events of the run after the event with number after, with tokens in
// place of all long values. take owns the events.
func (r *Reader) Each(ctx context.Context, after uint64, take func(event.Event) error) error {
	return r.src.EachShort(ctx, r.run, after, r.table, func(e event.Event) error {
		if err := r.Shorten(e); err != nil {
			return err
		}
		if d, ok := e.Data.(*event.RunCreated); ok {
			if r.Head.Meta == nil { // the source was a server
				r.Head.Meta = d.Meta
			}
			if err := r.readFields(ctx, d.Input); err != nil {
				return err
			}
		}
		return take(e)
	})
}

// Shorten replaces the long values in an event of the run with tokens. It modifies the event.
func (r *Reader) Shorten(e event.Event) error {
	if err := r.table.shorten(e, r.Workflow.Format == formatGraph); err != nil {
		return fmt.Errorf("read run %s: %w", r.run, err)
	}
	return nil
}

// Take returns a copy of an event of the run in the form in which Each passes it; e may be shared.
// The event must have been stored already.
func (r *Reader) Take(e event.Event) (event.Event, error) {
	data, _, err := journal.Encode([]event.Event{e})
	if err != nil {
		return e, fmt.Errorf("read run %s: %w", r.run, err)
	}
	own, err := journal.DecodeReferences(data, r.table.Refer)
	if err != nil {
		return e, fmt.Errorf("read run %s: %w", r.run, journal.InRun(r.run, err))
	}
	return own[0], r.Shorten(own[0])
}

const formatGraph = "graph"

// Fold folds all events of the run.
func (r *Reader) Fold(ctx context.Context) (*project.Folder, error) {
	return r.fold(ctx, project.NewFolder(r.run, r.Workflow), nil)
}

// Follow configures a folder of the reader's events to return long assembled texts as tokens, and
// to resolve tokens to the values that they represent.
func (r *Reader) Follow(f *project.Folder) *project.Folder {
	f.Assembled(r.assembly)
	f.Short(r.table)
	return f
}

// assembly returns the text of a recipe as a value; a long one as a token.
func (r *Reader) assembly(recipe *prompt.Recipe, t text.Text) event.Value {
	if recipe.Bytes <= shortBytes {
		quoted, _ := jsontext.AppendString(nil, t.String())
		return quoted
	}
	return r.table.assemble(recipe, t).quoted()
}

func (r *Reader) fold(ctx context.Context, f *project.Folder, each func(event.Event)) (*project.Folder, error) {
	r.Follow(f)
	err := r.Each(ctx, 0, func(e event.Event) error {
		f.Add(e)
		if each != nil {
			each(e)
		}
		return nil
	})
	return f, err
}

// Folder returns a folder for the reader's events that shows each event as it arrives, and forgets
// steps.
func (r *Reader) Folder() *project.Folder {
	f := r.Follow(project.NewFolder(r.run, r.Workflow))
	f.Forget(project.Keep{})
	return f
}

// LogFolder is like Folder, for the log.
func (r *Reader) LogFolder() *project.LogFolder {
	f := project.NewLogFolder(r.run, r.Workflow)
	r.Follow(f.Folder).Forget(project.Keep{})
	return f
}

// wholeLogFolder is like LogFolder, for all events of the run: it keeps what later events of the
// run refer to.
func (r *Reader) wholeLogFolder(ctx context.Context) (*project.LogFolder, error) {
	k := project.Keep{Window: math.MaxInt}
	if r.Head.LastSeq > manyEvents {
		k = project.Keep{Pins: map[int]bool{}}
		if _, err := r.FoldPart(ctx, k, false, nil); err != nil {
			return nil, err
		}
	}
	f := project.NewLogFolder(r.run, r.Workflow)
	r.Follow(f.Folder).Forget(k)
	return f, nil
}

// manyEvents is the number of events above which a log is folded twice.
const manyEvents = 10_000

// maxFolds is how often the events are folded when steps are needed after they were forgotten. In
// the last fold, none is forgotten.
const maxFolds = 4

// FoldPart folds all events of the run and forgets the steps that k does not keep, so that memory
// does not grow with the run. hasCalls keeps the tool calls of the trail. each, if not nil, is
// called with every event, with tokens; if it receives the first event again, the fold has
// restarted.
func (r *Reader) FoldPart(ctx context.Context, k project.Keep, hasCalls bool, each func(event.Event)) (
	*project.Folder, error) {
	if k.Pins == nil {
		k.Pins = map[int]bool{}
	}
	for n := 1; ; n++ {
		if n == maxFolds {
			k.Window = math.MaxInt
		}
		f := project.NewFolder(r.run, r.Workflow)
		if hasCalls {
			f.KeepCalls()
		}
		f.Forget(k)
		if _, err := r.fold(ctx, f, each); err != nil {
			return nil, err
		}
		missed := f.Missed()
		if len(missed) == 0 || n == maxFolds {
			return f, nil
		}
		for _, step := range missed {
			k.Pins[step] = true
		}
	}
}

// Run is the run object, whose steps may be a page.
type Run struct {
	project.Run
	// StepsNext is the cursor of the next page of steps; it is empty after the last page.
	StepsNext string `json:"stepsNext"`
}

// Run returns the run object with a page of its steps, or ErrCursor for an invalid cursor.
func (r *Reader) Run(ctx context.Context, p Page) (Run, error) {
	steps, err := p.part(listSteps)
	if err != nil {
		return Run{}, err
	}
	f, err := r.FoldPart(ctx, project.Keep{Steps: steps}, false, nil)
	if err != nil {
		return Run{}, err
	}
	return r.runOf(f, p)
}

func (r *Reader) runOf(f *project.Folder, p Page) (out Run, err error) {
	out.Run = f.Run()
	out.Interrupted, out.WaitingFor, out.Turn = r.Head.Interrupted, r.Head.WaitingFor, TurnOf(r.Head)
	out.Steps, out.StepsNext, err = pageOf(p, listSteps, out.Steps, f.StepCount())
	r.seal(&out.Run)
	return out, err
}

// Step returns a step by its number, and false if there is none.
func (r *Reader) Step(ctx context.Context, n int) (project.Step, bool, error) {
	f, err := r.FoldPart(ctx, project.Keep{Pins: map[int]bool{n: true}}, false, nil)
	if err != nil {
		return project.Step{}, false, err
	}
	l, ok := f.Find(n)
	if !ok {
		return project.Step{}, false, nil
	}
	s, ok := l.Step()
	s.Input, s.Output = r.sealed(s.Input), r.sealed(s.Output)
	return s, ok, nil
}

// Trail returns a page of the trail, and the cursor of the next page. It returns ErrCursor for an
// invalid cursor.
func (r *Reader) Trail(ctx context.Context, p Page) ([]project.TrailEntry, string, error) {
	part, err := p.part(listTrail)
	if err != nil {
		return nil, "", err
	}
	f, err := r.FoldPart(ctx, project.Keep{Trail: part}, true, nil)
	if err != nil {
		return nil, "", err
	}
	return r.trail(f, p)
}

func (r *Reader) trail(f *project.Folder, p Page) ([]project.TrailEntry, string, error) {
	page, next, err := pageOf(p, listTrail, f.Trail(), f.TrailCount())
	for i := range page {
		r.sealEntry(&page[i])
	}
	return page, next, err
}

func (r *Reader) sealEntry(e *project.TrailEntry) {
	e.Input, e.Output = r.sealed(e.Input), r.sealed(e.Output)
	for j := range e.ToolCalls {
		c := &e.ToolCalls[j]
		c.Arguments, c.Result, c.Error = r.sealed(c.Arguments), r.sealed(c.Result), r.sealed(c.Error)
	}
}

// FoldBoth folds what RunAndTrail shows of a page, or of smaller pages with its cursor; hasCalls
// includes the tool calls of the trail. It returns ErrCursor for an invalid cursor.
func (r *Reader) FoldBoth(ctx context.Context, p Page, hasCalls bool) (*project.Folder, error) {
	ofSteps, ofTrail := splitPage(p)
	steps, err := ofSteps.part(listSteps)
	if err != nil {
		return nil, err
	}
	trail, err := ofTrail.part(listTrail)
	if err != nil {
		return nil, err
	}
	return r.FoldPart(ctx, project.Keep{Steps: steps, Trail: trail}, hasCalls, nil)
}

// splitPage returns the pages of steps and trail: a cursor belongs to one of the two, and the other
// shows its first page.
func splitPage(p Page) (ofSteps, ofTrail Page) {
	ofSteps, ofTrail = p, p
	if IsTrail(p.Cursor) {
		ofSteps.Cursor = ""
	} else {
		ofTrail.Cursor = ""
	}
	return ofSteps, ofTrail
}

// RunAndTrail returns the run object and the trail, a page of each, from the result of FoldBoth. It
// returns ErrCursor for an invalid cursor.
func (r *Reader) RunAndTrail(f *project.Folder, p Page) (run Run, trail []project.TrailEntry, next string, err error) {
	ofSteps, ofTrail := splitPage(p)
	if run, err = r.runOf(f, ofSteps); err != nil {
		return run, nil, "", err
	}
	trail, next, err = r.trail(f, ofTrail)
	return run, trail, next, err
}

// Logs returns a page of the log, and the cursor of the next page. It returns ErrCursor for an
// invalid cursor.
func (r *Reader) Logs(ctx context.Context, p Page) ([]project.LogEntry, string, error) {
	from, err := p.place(listLogs)
	if err != nil {
		return nil, "", err
	}
	page, n := []project.LogEntry{}, 0
	err = r.EachLog(ctx, func(one project.LogEntry) error {
		if n++; n > from && len(page) <= p.Limit {
			page = append(page, one)
		}
		return nil
	})
	if err != nil || len(page) <= p.Limit {
		return page, "", err
	}
	return page[:p.Limit], cursor(listLogs, from+p.Limit), nil
}

// EachLog calls take with the entries of the log.
func (r *Reader) EachLog(ctx context.Context, take func(project.LogEntry) error) error {
	f, err := r.wholeLogFolder(ctx)
	if err != nil {
		return err
	}
	return r.Each(ctx, 0, func(e event.Event) error {
		for _, one := range f.Add(e) {
			if err := take(r.Log(one)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Log prepares an entry from a folder of the reader's events for writing.
func (r *Reader) Log(one project.LogEntry) project.LogEntry {
	if one.Type == project.LogToolCall || one.Type == project.LogToolResult || one.Type == project.LogToolError {
		one.Content = r.table.unquoted(one.Content)
	}
	if _, v := r.table.next(one.Content, 0); v != nil && (one.Content != v.token || !v.IsText) {
		if one.Type == project.LogSubagentStart || one.Type == project.LogSubagentEnd ||
			one.Type == project.LogSubagentError {
			one.Content = r.table.escape(one.Content)
		}
		one.Content = r.table.compose(one.Content, true).token
	}
	return one
}

// Context returns the step context.
func (r *Reader) Context(ctx context.Context) (event.Value, error) {
	f, err := r.Fold(ctx)
	if err != nil {
		return nil, err
	}
	return f.Context(), nil
}

// Source is where runs are read from: a store or a server.
type Source interface {
	// RunDefinition returns a run's index entry and the workflow that it runs. It returns
	// journal.ErrNotFound, *journal.CorruptError or *journal.NewerError.
	RunDefinition(ctx context.Context, run string) (journal.Head, *workflow.Workflow, error)
	// EachShort calls take with the events of a run after the event with number after, in order,
	// with tokens of t in place of values that are stored separately from the records. take owns
	// the event. An error from take stops EachShort and is returned.
	EachShort(ctx context.Context, run string, after uint64, t *Table, take func(event.Event) error) error
	// Beginning returns up to n bytes of the start of a stored value and the value's total size.
	Beginning(ctx context.Context, run string, r *Ref, n int) (head []byte, size int64, err error)
	// Open returns a stored value as a stream, which ends with an error if the content does not
	// match its hash.
	Open(ctx context.Context, run string, r *Ref) (io.ReadCloser, error)
}
