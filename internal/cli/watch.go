package cli

import (
	"github.com/spf13/cobra"
)

const watchHelp = `Attaches to a run, whichever process drives it, and shows its progress from its
beginning, as run does, until it ends or pauses; then prints its output and exits
with its status. It only reads: it asks nothing, and Ctrl-C does not affect the run.
`

func (a *app) watchCmd() *cobra.Command {
	var json, full, events bool
	c := &cobra.Command{
		Use: "watch RUN", Short: "attach to a run and show its progress", Args: checkArgs("RUN"),
		ValidArgsFunction: a.completeRuns,
		Long: watchHelp + runArgHelp + "\n\nExit status: 0 completed, 1 failed, 3 paused for a person, 4 cancelled, " +
			"130 after\nCtrl-C, or if no process drives the run.",
		Example: "  hocket watch latest\n  hocket watch RUN --events | jq .type\n  hocket watch RUN --json --quiet | " +
			"jq .usage\n" +
			"  hocket watch RUN --server http://127.0.0.1:7788",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			s, err := a.openBackend(c)
			if err != nil {
				return err
			}
			fo := a.newFollower()
			fo.service, fo.json, fo.full, fo.readOnly = s, json, full, true
			defer fo.close()
			run, err := a.runID(ctx, s, args[0])
			if err != nil {
				return err
			}
			rec, err := s.Read(ctx, run)
			if err != nil {
				return a.notFound(ctx, s, err, run)
			}
			if !a.quiet {
				title := ""
				if name := rec.Object().Workflow.Name; name != nil {
					title = "  " + clean(*name)
				}
				fo.progress.say(a.color.dim("run "+run+title) + "\n")
			}
			if err := fo.watch(ctx, run, rec.Workflow, 0, events); err != nil {
				return err
			}
			return fo.follow(ctx)
		},
	}
	a.addServerFlag(c)
	c.Flags().BoolVar(&json, "json", false, "print the run object instead of the final output")
	c.Flags().BoolVar(&full, "full", false, "with --json: "+fullUsage)
	c.Flags().BoolVar(&events, "events", false, "print every event as one JSON line, from the first event")
	return c
}
