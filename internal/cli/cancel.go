package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) cancelCmd() *cobra.Command {
	reason, takeOver := "", false
	c := &cobra.Command{
		Use: "cancel RUN", Short: "cancel a run",
		Long: "Cancels a run, whichever process drives it, and waits until it has stopped. Its\nresults so far are " +
			"kept. The exit status is 2 if the run has already completed or\nfailed.\n" + runArgHelp,
		Args: checkArgs("RUN"), ValidArgsFunction: a.completeRunsOf(isOpen),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.openBackend(c)
			if err != nil {
				return err
			}
			defer s.Close()
			if _, here := s.(*service.Service); !here {
				if err := onlyHere(c, "take-over"); err != nil {
					return err
				}
			}
			run, err := a.runID(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			if err := a.reportDriver(c.Context(), s, run, takeOver); err != nil {
				return err
			}
			in := &op.CancelIn{RunPath: op.RunPath{ID: run}, Body: &op.CancelInputBody{Reason: reason}}
			if _, err := perform(c.Context(), a, s, op.CancelRun, in); err != nil {
				if errors.Is(err, engine.ErrEnded) {
					return usageErrorf("run %s has already ended", run)
				}
				return a.notFound(c.Context(), s, err, run)
			}
			st, err := s.Stopped(c.Context(), run)
			if err != nil {
				return err
			}
			if !a.quiet {
				fmt.Fprintf(a.Err, "run %s: %s\n", run, st.Status)
			}
			return nil
		},
	}
	a.addServerFlag(c)
	addTakeOverFlag(c, &takeOver)
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` to store with the run")
	return c
}
