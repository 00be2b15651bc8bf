package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/view"
)

func (a *app) runsEventsCmd() *cobra.Command {
	var (
		follow, asJSON, full, expand bool
		after                        uint64
	)
	c := &cobra.Command{
		Use: "events RUN", Short: "print the events of a run", Args: checkArgs("RUN"),
		ValidArgsFunction: a.completeRuns,
		Long: "Prints the events of a run: short lines on a terminal, and one JSON object per\nline with --json " +
			"or if standard output is not a terminal.",
		Example: "  hocket runs events RUN --follow\n  hocket runs events RUN --json | jq .type",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			s, err := a.openBackend(c)
			if err != nil {
				return err
			}
			defer s.Close()
			run, err := a.runID(ctx, s, args[0])
			if err != nil {
				return err
			}
			r, err := s.View(ctx, run)
			if err != nil {
				return a.notFound(ctx, s, err, run)
			}
			r.Room(viewRoom)
			p := &linePrinter{app: a, reader: r, folder: r.Folder(), after: after, short: a.OutTerminal && !asJSON,
				style: shown{full: full}.style(run), expand: expand}
			if err := r.Each(ctx, 0, func(e event.Event) error { return p.add(ctx, e) }); err != nil {
				return err
			}
			if err := p.flush(ctx); !follow || err != nil {
				return err
			}
			for u, err := range s.Watch(ctx, run, p.last) {
				switch {
				case ctx.Err() != nil:
					return &exit{status: ExitInterrupted}
				case err != nil:
					return err
				case u.Event == nil:
					continue
				}
				e, err := r.Take(*u.Event)
				if err == nil {
					err = p.add(ctx, e)
				}
				if err == nil {
					err = p.flush(ctx)
				}
				if err != nil {
					return err
				}
			}
			if ctx.Err() != nil {
				return &exit{status: ExitInterrupted}
			}
			return nil
		},
	}
	a.addServerFlag(c)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "follow the run until it has ended")
	c.Flags().Uint64Var(&after, "after", 0, "print only events after number `N`")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON line for each event, on a terminal too")
	c.Flags().BoolVar(&full, "full", false, fullUsage)
	c.Flags().BoolVar(&expand, "expand", false, "show inputs as texts, not as recipes")
	return c
}

// linePrinter prints the events of a run, one line each, in batches. It is not safe for concurrent
// use.
type linePrinter struct {
	*app
	reader *view.Reader
	folder *project.Folder
	after  uint64 // events up to this one are not printed
	last   uint64
	short  bool // short lines for people
	style  view.Style
	expand bool

	lines  []json.RawMessage
	events []event.Event
	size   int
}

// lineBytes is the size of a batch of lines, without their long values.
const lineBytes = 1 << 20

func (p *linePrinter) add(ctx context.Context, e event.Event) error {
	if p.last = e.Seq; e.Seq > p.after {
		shown := p.folder.Expand(e)
		if p.expand {
			shown = p.folder.ExpandAll(e)
		}
		line, err := p.reader.Event(shown)
		if err != nil {
			return err
		}
		p.lines, p.events, p.size = append(p.lines, line), append(p.events, e), p.size+len(line)
	}
	p.folder.Add(e)
	if p.size < lineBytes {
		return nil
	}
	return p.flush(ctx)
}

// flush prints the batch.
func (p *linePrinter) flush(ctx context.Context) error {
	if !p.OutTerminal {
		doc, err := p.reader.PrepareLines(ctx, p.lines, p.style)
		if err == nil {
			err = doc.WriteTo(ctx, p.Out)
		}
		if err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		p.lines, p.events, p.size = p.lines[:0], p.events[:0], 0
		return nil
	}
	for i, line := range p.lines {
		if err := p.print(ctx, p.events[i], line); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	p.lines, p.events, p.size = p.lines[:0], p.events[:0], 0
	return nil
}

func (p *linePrinter) print(ctx context.Context, e event.Event, line json.RawMessage) error {
	var b bytes.Buffer
	if err := p.reader.Write(ctx, &b, line, p.style); err != nil {
		return err
	}
	text := b.Bytes()
	if p.short {
		text = shortEvent(e, text)
	} else {
		text = harmless(text)
	}
	_, err := p.Out.Write(append(text, '\n'))
	return err
}
