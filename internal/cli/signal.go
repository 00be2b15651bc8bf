package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

const signalHelp = `Sends a signal to a run. The step that has waited longest of those that wait for
NAME and accept the value takes it, and the run continues; it is followed here,
as by resume. A signal that no step takes yet is kept for a later one: the
command says so and exits with status 0.

VALUE is JSON, else text; - reads it from standard input; without it the value
is null. Texts that are JSON need quotes of their own: '"5"'. A signal that is
sent again with the same --id changes nothing.

` + runArgHelp + `

`

type signalFlags struct {
	id                 string
	json, full, events bool
	takeOver           bool
}

func (a *app) signalCmd() *cobra.Command {
	fl := &signalFlags{}
	c := &cobra.Command{
		Use:   "signal RUN NAME [VALUE]",
		Short: "send a signal to a run that waits, or will wait, for it",
		Long:  signalHelp + waitHelp + " 2 also means\nthat the signal was refused; the run is unchanged.",
		Example: "  hocket signal RUN payment '{\"amount\": 120}'\n" +
			"  hocket signal latest build-done\n" +
			"  curl -s https://example.com/order.json | hocket signal RUN order - --id order-17",
		Args: checkArgs("RUN", "NAME", "[VALUE]"),
		ValidArgsFunction: func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return a.completeRunsOf(isOpen)(c, args, prefix)
			case 1:
				return a.completeSignals(c, args, prefix)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return a.signal(c, fl, args) },
	}
	f := c.Flags()
	f.StringVar(&fl.id, "id", "", "`ID` of the signal: the same one again changes nothing")
	a.addServerFlag(c)
	a.addTemporalFlag(c)
	addTakeOverFlag(c, &fl.takeOver)
	f.BoolVar(&fl.json, "json", false, "print the run object instead of the final output")
	f.BoolVar(&fl.full, "full", false, "with --json: "+fullUsage)
	f.BoolVar(&fl.events, "events", false, "print every event as one JSON line during the run")
	return c
}

// completeSignals completes the names of the signals that the run named earlier on the command
// line, or its workflow, waits for.
func (a *app) completeSignals(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.completeOfRun(func(ctx context.Context, s stateReader, run string) (words []string, err error) {
		rec, err := s.Read(ctx, run)
		if err != nil {
			return nil, err
		}
		waits := map[string]string{}
		for _, w := range rec.Object().Waiting {
			if w.Kind == workflow.WaitSignal && waits[w.Signal] == "" {
				waits[w.Signal] = clean(w.Node) + " waits for it"
				words = append(words, cobra.CompletionWithDesc(w.Signal, waits[w.Signal]))
			}
		}
		for _, name := range rec.Workflow.Signals() {
			if waits[name] == "" {
				words = append(words, cobra.CompletionWithDesc(name, "no step waits for it now"))
			}
		}
		return words, nil
	})(c, args, prefix)
}

// signalValue parses VALUE: as JSON if it is valid, otherwise as text.
func (a *app) signalValue(ctx context.Context, args []string) (event.Value, error) {
	if len(args) == 0 {
		return event.Value("null"), nil
	}
	text := args[0]
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(&contextReader{ctx, a.In}, waits.MaxSignalBytes+1))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		if text = string(read); len(text) > waits.MaxSignalBytes {
			return nil, usageErrorf("standard input is larger than a signal may be: %d bytes at most",
				waits.MaxSignalBytes)
		}
	}
	if text = strings.TrimPrefix(text, "\uFEFF"); json.Valid([]byte(text)) {
		return event.Value(text), nil
	}
	return expr.Quote(text), nil
}

func (a *app) signal(c *cobra.Command, fl *signalFlags, args []string) error {
	ctx := c.Context()
	value, err := a.signalValue(ctx, args[2:])
	if err != nil {
		return err
	}
	if fl.full && !fl.json {
		return usageErrorf("--full works only with --json")
	}
	s, run, err := a.resumes(c, &resumeFlags{}, args[0])
	if err != nil {
		return err
	}
	fo := a.newFollower()
	fo.service, fo.run, fo.json, fo.full = s, run, fl.json, fl.full
	fo.resumeRun = func(ctx context.Context) error { return s.TakeUp(ctx, run) }
	defer fo.close()
	if err := a.reportDriver(ctx, s, run, fl.takeOver); err != nil {
		return err
	}
	rec, err := s.Read(ctx, run)
	if err != nil {
		return a.notFound(ctx, s, err, run)
	}
	if err := a.rejectTemporalRun(s, rec, "", false); err != nil {
		return err
	}
	fo.abandoned = rec.Head.Interrupted
	if err := fo.watch(ctx, run, rec.Workflow, rec.Head.LastSeq, fl.events); err != nil {
		return err
	}
	out, err := perform(ctx, a, s, op.SignalRun, &op.SignalIn{RunPath: op.RunPath{ID: run}, Name: args[1], Key: fl.id,
		Body: &op.SignalBody{Value: value}})
	switch {
	case ctx.Err() != nil:
		return fo.interrupted()
	case err != nil:
		return signalRefused(err, run)
	}
	if out.Later() && !rec.Head.Interrupted {
		if rec, err = fo.sync(ctx); err == nil && fl.json {
			err = fo.result(ctx, rec)
		}
		fo.progress.done()
		if !a.quiet {
			fmt.Fprintf(a.Err, "no step takes the signal %s now; run %s keeps it\n", clean(out.Signal), out.Run)
		}
		return err
	}
	return fo.follow(ctx)
}

// signalRefused returns an error that explains why a signal was not accepted, with the text of the
// error's code; the run is unchanged.
func signalRefused(err error, run string) error {
	switch {
	case errors.Is(err, engine.ErrEnded), errors.Is(err, waits.ErrSignalName), errors.Is(err, waits.ErrSignal),
		errors.Is(err, waits.ErrSignalsFull):
	default:
		if service.CodeOf(err) != service.CodeConflict {
			return err
		}
	}
	d := service.Describe(err)
	text := d.Message
	if hint := errcode.Hint(d.Code, d.Fields, errcode.Command); hint != "" {
		text += "; " + hint
	}
	return usageErrorf("run %s: %s; nothing was changed", run, clean(text))
}
