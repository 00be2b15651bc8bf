package cli

import (
	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/engine"
)

func (a *app) runsEventsCmd() *cobra.Command {
	var (
		follow, asJSON bool
		after          uint64
	)
	c := &cobra.Command{
		Use: "events RUN", Short: "print the events of a run", Args: takes("RUN"), ValidArgsFunction: a.completeRuns,
		Long:    "Prints the events of a run: one JSON line each with --json and wherever standard\noutput is no terminal, short lines for people on a terminal.",
		Example: "  hocket runs events RUN --follow\n  hocket runs events RUN --json | jq .type",
		RunE: func(c *cobra.Command, args []string) error {
			ctx, run := c.Context(), args[0]
			s, err := a.sees(c)
			if err != nil {
				return err
			}
			defer s.Close()
			rec, err := s.Read(ctx, run)
			if err != nil {
				return a.notFound(ctx, s, err, run)
			}
			p := newEventPrinter(a, run, rec.Workflow)
			p.short = a.OutTerminal && !asJSON
			tell := func(e engine.Event) {
				if e.Seq <= after {
					p.skip(e)
				} else {
					p.print(e)
				}
			}
			last := uint64(0)
			for _, e := range rec.Events {
				tell(e)
				last = e.Seq
			}
			if !follow || p.err != nil {
				return p.err
			}
			for u, err := range s.Watch(ctx, run, last) {
				switch {
				case ctx.Err() != nil:
					return &exit{status: ExitInterrupted}
				case err != nil:
					return err
				case u.Event != nil:
					tell(*u.Event)
				}
				if p.err != nil {
					return p.err
				}
			}
			if ctx.Err() != nil {
				return &exit{status: ExitInterrupted}
			}
			return p.err
		},
	}
	a.addServerFlag(c)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	c.Flags().Uint64Var(&after, "after", 0, "only events after number `N`")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON line for each event, on a terminal too")
	return c
}
