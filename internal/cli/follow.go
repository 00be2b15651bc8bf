package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// follower shows one run while it goes on, asks its questions on a terminal, and ends with its result.
type follower struct {
	*app
	service *service.Service
	json    bool
	events  bool
	context bool

	progress progress
	mu       sync.Mutex
	folder   *project.Folder // what the events so far tell, where they are printed
	closed   bool
}

func (a *app) newFollower(asJSON, events, stepContext bool) *follower {
	f := &follower{app: a, json: asJSON, events: events, context: stepContext}
	switch {
	case a.quiet:
		f.progress = silent{}
	case a.ErrTerminal && a.Env("TERM") != "dumb":
		f.progress = newLive(a)
	default:
		f.progress = newPlain(a)
	}
	return f
}

// tell prepares the printing of events: past are those of the run so far, which are not printed again.
func (f *follower) tell(run string, w *workflow.Workflow, past []engine.Event) {
	if !f.events {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.folder = project.NewFolder(run, w)
	for _, e := range past {
		f.folder.Add(e)
	}
}

// attach makes the service tell of what happens.
func (f *follower) attach(cfg *service.Config) {
	cfg.OnEvents = f.onEvents
	cfg.OnDelta = func(_ string, d driver.Delta) { f.progress.delta(d) }
}

func (f *follower) onEvents(run string, events []engine.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		if f.folder != nil {
			line, err := journal.MarshalEvent(run, f.folder.Expand(e))
			f.folder.Add(e)
			if err == nil {
				f.Out.Write(append(line, '\n')) //nolint:errcheck // a reader that left is seen at the end
			}
		}
		f.progress.event(e)
	}
}

// close ends what the invocation drives and the drawing.
func (f *follower) close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	err := f.service.Close()
	f.progress.done()
	return err
}

// begin says which run this is, so that it can be found again whatever happens.
func (f *follower) begin(run, name string) {
	if !f.quiet && f.db != service.Memory {
		fmt.Fprintln(f.Err, f.color.dim("run "+run+"  "+clean(name)))
	}
}

// follow waits for the run, answers its approvals on a terminal, and gives the result as an exit error.
func (f *follower) follow(ctx context.Context, run string) error {
	for {
		st, err := f.service.Wait(ctx, run)
		if ctx.Err() != nil {
			return f.interrupted(run)
		}
		if err != nil {
			return err
		}
		if st.Status == engine.StatusPaused && f.InTerminal && f.ErrTerminal {
			again, err := f.ask(ctx, run)
			if ctx.Err() != nil {
				return f.interrupted(run)
			}
			if err != nil {
				return err
			}
			if again {
				continue
			}
		}
		return f.result(ctx, run)
	}
}

// interrupted ends the invocation after Ctrl-C: the run stays and can be resumed.
func (f *follower) interrupted(run string) error {
	if err := f.close(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(f.Err, "hocket: %v\n", err)
	}
	if f.db == service.Memory {
		return &exit{ExitInterrupted, "interrupted"}
	}
	return &exit{ExitInterrupted, fmt.Sprintf("interrupted; run %s is stored. Continue it with:\n  hocket resume %s%s", run, run, f.dbFlag())}
}

// dbFlag is the --db flag that a further command needs.
func (f *follower) dbFlag() string {
	if f.db == "" {
		return ""
	}
	return " --db " + f.db
}

// result prints what the run gave and turns its status into an exit error.
func (f *follower) result(ctx context.Context, run string) error {
	rec, err := f.service.Read(ctx, run)
	if err != nil {
		return err
	}
	o := rec.Object()
	f.progress.done()
	switch {
	case f.json:
		if err := writeJSON(f.Out, o, f.OutTerminal); err != nil {
			return err
		}
	case f.events:
	case o.Status == engine.StatusCompleted:
		if _, err := fmt.Fprintln(f.Out, outputText(o.Output)); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	if f.context {
		fmt.Fprintf(f.Err, "--- Step Context ---\n%s\n", indent(project.Fold(run, rec.Workflow, rec.Events).Context()))
	}
	return f.status(o)
}

func (f *follower) status(o project.Run) error {
	switch o.Status {
	case engine.StatusCompleted:
		return nil
	case engine.StatusCancelled:
		return &exit{ExitCancelled, "run " + o.ID + " was cancelled"}
	case engine.StatusPaused:
		return f.paused(o)
	case engine.StatusFailed:
		msg := "run " + o.ID + " failed"
		if o.Error != nil {
			msg = fmt.Sprintf("run %s failed: %s (%s)", o.ID, o.Error.Message, o.Error.Code)
			if o.Error.Node != nil && *o.Error.Node != "" {
				msg = fmt.Sprintf("run %s failed at %s: %s (%s)", o.ID, *o.Error.Node, o.Error.Message, o.Error.Code)
			}
			switch o.Error.Code {
			case engine.CodeMaxSteps:
				msg += fmt.Sprintf("\ncontinue it with: hocket resume %s%s --max-steps N", o.ID, f.dbFlag())
			case engine.CodeTimeout:
				if o.Error.Node == nil || *o.Error.Node == "" {
					msg += fmt.Sprintf("\ncontinue it with: hocket resume %s%s --timeout DURATION", o.ID, f.dbFlag())
				}
			}
		}
		return &exit{ExitFailed, msg}
	}
	return &exit{ExitInterrupted, fmt.Sprintf("run %s has no process that drives it. Continue it with:\n  hocket resume %s%s", o.ID, o.ID, f.dbFlag())}
}

// paused tells how to answer.
func (f *follower) paused(o project.Run) error {
	var b bytes.Buffer
	if f.db == service.Memory {
		return &exit{ExitPaused, "run " + o.ID + " waits for a person, but --db " + service.Memory + " keeps nothing: run it with a store to answer it later"}
	}
	fmt.Fprintf(&b, "run %s is paused and waits for a person:", o.ID)
	for _, w := range o.Waiting {
		fmt.Fprintf(&b, "\n  %s at %s (%s)", w.ID, w.Node, w.Kind)
		if w.Prompt != "" {
			fmt.Fprintf(&b, ": %s", short(clean(w.Prompt), 200))
		}
		pick := ""
		if len(o.Waiting) > 1 {
			pick = " --wait " + w.ID
		}
		if w.Kind == "approval" {
			fmt.Fprintf(&b, "\n    hocket resume %s%s%s --approve    (or --reject, with --note TEXT)", o.ID, f.dbFlag(), pick)
		} else {
			fmt.Fprintf(&b, "\n    hocket resume %s%s%s --input TEXT", o.ID, f.dbFlag(), pick)
		}
	}
	return &exit{ExitPaused, b.String()}
}

// outputText is an output as people want it: a text as it is, anything else as JSON.
func outputText(v engine.Value) string { return expr.Text(v) }

func indent(v []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, v, "", "  ") != nil {
		return v
	}
	return b.Bytes()
}

// writeJSON writes v as JSON, indented for people.
func writeJSON(w interface{ Write([]byte) (int, error) }, v any, pretty bool) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if pretty {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
