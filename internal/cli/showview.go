package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
)

// shown specifies which parts of a run are shown.
type shown struct {
	json, logs, trail, context bool
	// full also shows values above view.Limit in full.
	full bool
}

// viewRoom is the maximum total size, in bytes, of values kept in records that a view holds in
// memory.
const viewRoom = 32 << 20

const fullUsage = "show values above 32 KiB in full"

// wholeFields are the fields of the run object that are complete in JSON, however long they are.
var wholeFields = []string{"input", "output", "outputs"}

// style returns how long values are shown in JSON.
func (sh shown) style(run string) view.Style {
	if sh.full {
		return view.Style{}
	}
	return view.Style{Limit: view.Limit, Whole: wholeFields, Href: view.Address(run)}
}

// text returns how long values are shown to people; the fields in whole are shown in full.
func (sh shown) text(whole ...string) view.Style {
	if sh.full {
		return view.Style{}
	}
	return view.Style{Limit: view.Limit, Whole: whole, Cut: func(v view.Value) string {
		return fmt.Sprintf("%s… (%d bytes; --full shows all)", v.Head, v.Bytes)
	}}
}

// showView shows a run, or one of its projections.
func (a *app) showView(ctx context.Context, s stateReader, run string, sh shown) error {
	r, err := s.View(ctx, run)
	if err != nil {
		return a.notFound(ctx, s, err, run)
	}
	r.Room(viewRoom)
	switch {
	case sh.logs && sh.json:
		return a.writeLogs(ctx, r, sh)
	case sh.logs:
		return a.printLogs(ctx, r, sh)
	case sh.trail:
		return a.printTrail(ctx, s, r, sh)
	case sh.context:
		steps, err := r.Context(ctx)
		if err != nil {
			return err
		}
		return a.writeViewAs(ctx, r, steps, sh.style(run), !sh.json || a.OutTerminal)
	}
	o, err := r.RunWhole(ctx)
	if err != nil {
		return err
	}
	if sh.json {
		return a.writeWhole(ctx, o, sh.style(run), a.OutTerminal)
	}
	return a.printRun(ctx, s, r, o, sh)
}

// printRun shows a run to people.
func (a *app) printRun(ctx context.Context, s stateReader, r *view.Reader, whole *view.Whole, sh shown) error {
	o := whole.Run
	told, err := forPeople(ctx, r, o, sh)
	if err != nil {
		return err
	}
	steps := func() error { return a.printSteps(ctx, r, whole, sh) }
	if err := a.showRun(told, r.Head.Meta[service.MetaProgram], steps); err != nil {
		return err
	}
	below, err := list(ctx, s, journal.Query{Parent: o.ID}, maxChildRuns)
	if err != nil || len(below) == 0 {
		return err
	}
	slices.Reverse(below)
	fmt.Fprintln(a.Out, "\nruns that it started:")
	return a.runTable(below)
}

// forPeople returns the run object that is shown to people: its output and the content of questions
// are complete, and long values of steps are left out.
func forPeople(ctx context.Context, r *view.Reader, o project.Run, sh shown) (told project.Run, err error) {
	waiting := o
	waiting.Outputs = nil
	if o.Workflow.Format == nil || *o.Workflow.Format != service.FormatGraph {
		waiting.State = nil
	}
	err = decodeView(ctx, r, waiting, sh.text("output", "waiting"), &told)
	told.Usage = o.Usage // its JSON form is incomplete
	return told, err
}

// stepsAtOnce is the number of steps in a table.
const stepsAtOnce = 200

// printSteps shows the steps of a run to people, in tables of up to stepsAtOnce steps. Most steps
// of map items are left out.
func (a *app) printSteps(ctx context.Context, r *view.Reader, whole *view.Whole, sh shown) error {
	isFirst, fold := true, newFolded()
	var some []project.Step
	table := func() error {
		var told []project.Step
		if err := decodeView(ctx, r, some, sh.text(), &told); err != nil {
			return err
		}
		err := a.showSteps(told, isFirst)
		isFirst, some = false, some[:0]
		return err
	}
	if err := whole.EachSteps(ctx, func(steps []project.Step) error {
		for _, st := range steps {
			if !fold.shows(&st) {
				continue
			}
			st.Input, st.Output = nil, nil
			if some = append(some, st); len(some) == stepsAtOnce {
				if err := table(); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if len(some) > 0 {
		if err := table(); err != nil {
			return err
		}
	}
	if rest := fold.omittedText(); rest != "" {
		fmt.Fprintln(a.Out, rest)
	}
	return nil
}

// printTrail shows the trail.
func (a *app) printTrail(ctx context.Context, s stateReader, r *view.Reader, sh shown) error {
	if sh.json && !a.OutTerminal {
		return a.writeList(ctx, r, sh, func(take func(any) error) error {
			return r.EachTrail(ctx, func(some []project.TrailEntry) error { return take(some) })
		})
	}
	isEmpty, all := true, []project.TrailEntry{}
	if err := r.EachTrail(ctx, func(some []project.TrailEntry) error {
		isEmpty = false
		if sh.json {
			all = append(all, some...)
			return nil
		}
		for part := range slices.Chunk(some, 20) {
			var texts []project.TrailEntry
			if err := decodeView(ctx, r, part, sh.text(), &texts); err != nil {
				return err
			}
			a.showTrail(texts)
		}
		return nil
	}); err != nil {
		return err
	}
	switch {
	case sh.json:
		return a.writeView(ctx, r, all, sh.style(r.Head.Run))
	case isEmpty:
		return a.noTrail(ctx, s, r.Head.Run)
	}
	return nil
}

// writeWhole writes a run object as JSON while it is read, indented for people at a terminal.
func (a *app) writeWhole(ctx context.Context, o *view.Whole, style view.Style, pretty bool) error {
	if pretty {
		var b bytes.Buffer
		if err := o.WriteTo(ctx, &b, style); err != nil {
			return err
		}
		return writeJSON(a.Out, json.RawMessage(b.Bytes()), true)
	}
	if err := o.WriteTo(ctx, a.Out, style); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err := io.WriteString(a.Out, "\n")
	return err
}

// decodeView decodes a view into into, with texts and values in place of tokens.
func decodeView(ctx context.Context, r *view.Reader, v any, style view.Style, into any) error {
	var b bytes.Buffer
	if err := r.Write(ctx, &b, v, style); err != nil {
		return err
	}
	if err := json.Unmarshal(b.Bytes(), into); err != nil {
		return fmt.Errorf("show run %s: %w", r.Head.Run, err)
	}
	return nil
}

// writeView writes a view as JSON while it is read, indented for people at a terminal.
func (a *app) writeView(ctx context.Context, r *view.Reader, v any, style view.Style) error {
	return a.writeViewAs(ctx, r, v, style, a.OutTerminal)
}

func (a *app) writeViewAs(ctx context.Context, r *view.Reader, v any, style view.Style, pretty bool) error {
	if pretty {
		var b bytes.Buffer
		if err := r.Write(ctx, &b, v, style); err != nil {
			return err
		}
		return writeJSON(a.Out, json.RawMessage(b.Bytes()), true)
	}
	if err := r.Write(ctx, a.Out, v, style); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err := io.WriteString(a.Out, "\n")
	return err
}

// atOnce is the number of log entries that are read before they are written.
const atOnce = 500

// eachLogs calls take with the log entries, in batches.
func eachLogs(ctx context.Context, r *view.Reader, take func([]project.LogEntry) error) error {
	var some []project.LogEntry
	err := r.EachLog(ctx, func(one project.LogEntry) error {
		if some = append(some, one); len(some) < atOnce {
			return nil
		}
		err := take(some)
		some = some[:0]
		return err
	})
	if err == nil && len(some) > 0 {
		err = take(some)
	}
	return err
}

// writeLogs writes the log as one list.
func (a *app) writeLogs(ctx context.Context, r *view.Reader, sh shown) error {
	if a.OutTerminal {
		entries := []project.LogEntry{}
		if err := r.EachLog(ctx, func(one project.LogEntry) error {
			entries = append(entries, one)
			return nil
		}); err != nil {
			return err
		}
		return a.writeView(ctx, r, entries, sh.style(r.Head.Run))
	}
	return a.writeList(ctx, r, sh, func(take func(any) error) error {
		return eachLogs(ctx, r, func(some []project.LogEntry) error { return take(some) })
	})
}

// writeList writes the parts of a list as a single list.
func (a *app) writeList(ctx context.Context, r *view.Reader, sh shown, each func(take func(any) error) error) error {
	between := "["
	if err := each(func(some any) error {
		doc, err := r.Prepare(ctx, some, sh.style(r.Head.Run))
		if err != nil {
			return err
		}
		if _, err := io.WriteString(a.Out, between); err != nil {
			return err
		}
		between = ","
		return doc.Entries().WriteTo(ctx, a.Out)
	}); err != nil {
		return err
	}
	if between == "[" {
		between = "[]\n"
	} else {
		between = "]\n"
	}
	_, err := io.WriteString(a.Out, between)
	return err
}

// printLogs shows the log to people.
func (a *app) printLogs(ctx context.Context, r *view.Reader, sh shown) error {
	return eachLogs(ctx, r, func(some []project.LogEntry) error {
		var texts []project.LogEntry
		if err := decodeView(ctx, r, some, sh.text(), &texts); err != nil {
			return err
		}
		return a.showLogs(texts)
	})
}
