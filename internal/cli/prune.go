package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/journal"
)

func (a *app) runsPruneCmd() *cobra.Command {
	var (
		ended, paused string
		asJSON        bool
	)
	c := &cobra.Command{
		Use: "prune [RUN]…", Short: "delete old runs, or the runs named, and free their space",
		Long: "Deletes runs that ended more than 30 days ago, or longer ago than --ended; or only\nthe " +
			"runs named, in any status. Other paused runs are deleted only with --paused.\nThe store file becomes " +
			"smaller.",
		Args:              checkArgs("[RUN]…"),
		ValidArgsFunction: a.completeManyRuns,
		RunE: func(c *cobra.Command, args []string) error {
			q := journal.PruneQuery{Runs: args}
			now := time.Now()
			if len(args) == 0 || c.Flags().Changed("ended") {
				d, err := parseAge("ended", ended)
				if err != nil {
					return err
				}
				q.EndedBefore = now.Add(-d)
			}
			if paused != "" {
				d, err := parseAge("paused", paused)
				if err != nil {
					return err
				}
				q.PausedBefore = now.Add(-d)
			}
			res, err := a.prune(c, q)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.Out, map[string]int64{"runs": int64(res.Runs), "values": int64(res.Blobs),
					"freedBytes": res.Freed}, a.OutTerminal)
			}
			if !a.quiet {
				fmt.Fprintf(a.Err, "deleted %s; the store is %s smaller\n", pluralize(res.Runs, "run"),
					bytesText(max(0, res.Freed)))
			}
			return nil
		},
	}
	c.Flags().StringVar(&ended, "ended", "30d",
		"delete runs that ended longer ago than `AGE`, such as 12h or 7d; 0 deletes all ended runs")
	c.Flags().StringVar(&paused, "paused", "", "delete runs that have been paused longer than `AGE`")
	a.addServerFlag(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print what was deleted as JSON")
	return c
}

// prune deletes runs of the selected server, or of the local store.
func (a *app) prune(c *cobra.Command, q journal.PruneQuery) (res journal.PruneResult, err error) {
	r, err := a.selectedServer(c)
	if err != nil {
		return res, err
	}
	if r != nil {
		defer r.Close()
		if q.Runs, err = a.runIDsOf(c.Context(), r, q.Runs); err != nil {
			return res, err
		}
		return r.Prune(c.Context(), q)
	}
	s, err := a.openExisting(c.Context())
	if err != nil {
		return res, err
	}
	defer s.Close()
	if q.Runs, err = a.runIDsOf(c.Context(), s, q.Runs); err != nil {
		return res, err
	}
	for _, run := range q.Runs {
		if _, err := s.Head(c.Context(), run); err != nil {
			return res, a.notFound(c.Context(), s, err, run)
		}
	}
	return s.Prune(c.Context(), q)
}

// parseAge parses a duration, which may be in days.
func parseAge(flag, s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n >= 0 && n < 100_000 {
			return time.Duration(n * float64(24*time.Hour)), nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, mustBe(flag, "an age such as 90m, 12h or 30d", s)
	}
	return d, nil
}
