package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) runsForkCmd() *cobra.Command {
	var (
		at     uint64
		asJSON bool
	)
	c := &cobra.Command{
		Use: "fork RUN --at SEQ", Short: "create a new run from the events of another one",
		Long: "Makes a new run that has the past of another one up to an event, which stays as\nit is, and prints " +
			"the id of the new one. `hocket resume` continues it: model\n" +
			"calls of that past are not made again. Numbers of events are those of\n`hocket runs events`; events " +
			"that were stored together are taken together.",
		Example: "  hocket runs events RUN | grep step.completed    # where to branch off\n  hocket runs fork RUN " +
			"--at 9\n  hocket resume FORK",
		Args: checkArgs("RUN"), ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if at == 0 {
				return usageErrorf(
					"--at is required: the number of the last event to copy, from 1; see hocket runs events %s",
					quote(args[0]))
			}
			s, err := a.openBackend(c)
			if err != nil {
				return err
			}
			defer s.Close()
			run, err := a.runID(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			made, err := perform(c.Context(), a, s, op.ForkRun, &op.ForkIn{RunPath: op.RunPath{ID: run},
				Body: op.ForkInputBody{At: at}})
			fork := made.ID
			switch {
			case errors.As(err, new(*service.InvalidError)):
				return err
			case err != nil:
				return a.notFound(c.Context(), s, err, run)
			}
			if asJSON {
				return a.showView(c.Context(), s, fork, shown{json: true})
			}
			fmt.Fprintln(a.Out, clean(fork))
			if !a.quiet {
				a.forked(c, s, fork)
			}
			return nil
		},
	}
	a.addServerFlag(c)
	c.Flags().Uint64Var(&at, "at", 0, "number `SEQ` of the last event to copy")
	c.Flags().BoolVar(&asJSON, "json", false, "print the new run as JSON")
	return c
}

// forked prints how to continue a new run.
func (a *app) forked(c *cobra.Command, s backend, fork string) {
	rec, err := s.Read(c.Context(), fork)
	if err != nil {
		return // the fork exists, and its id was printed
	}
	o := rec.Object()
	if o.Status != event.StatusPaused {
		fmt.Fprintf(a.Err, "continue it with: %s\n", a.resumeLine(fork, ""))
	}
	for _, w := range o.Waiting {
		fmt.Fprintf(a.Err, "it waits at %s: %s\n", clean(w.Node), a.answerLine(o, w))
	}
}
