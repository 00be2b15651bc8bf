package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/view"
)

func (a *app) runsCmd() *cobra.Command {
	list := a.runsListCmd()
	c := &cobra.Command{
		Use: "runs", Short: "list, show and delete runs",
		Long: "Lists, shows and deletes runs. Without a subcommand, it lists them.\n" + runArgHelp,
		Example: "  hocket runs --status paused\n  hocket runs show RUN --logs\n  hocket runs events RUN --follow\n  " +
			"hocket runs prune --ended 7d",
		Args: checkArgs(), RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(list, a.runsShowCmd(), a.runsEventsCmd(), a.runsCountsCmd(), a.runsForkCmd(), a.runsProcessesCmd(),
		a.runsPruneCmd())
	return c
}

// runLine is a run in `runs list --json`.
type runLine struct {
	ID          string    `json:"id"`
	Workflow    string    `json:"workflow"`
	Version     *int      `json:"version"` // in the catalog; null means none
	Branch      *string   `json:"branch"`  // of the workflow; null means its main graph
	Format      string    `json:"format"`
	Status      string    `json:"status"`
	Waiting     int       `json:"waiting"`
	Interrupted bool      `json:"interrupted"`
	WaitingFor  string    `json:"waitingFor,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	// EndedAt and ParentRun are null if the run has not ended or has no parent, respectively.
	EndedAt   *time.Time `json:"endedAt"`
	ParentRun *string    `json:"parentRun"`

	Trigger      string          `json:"trigger"`
	Labels       view.Labels     `json:"labels"`
	InputPreview string          `json:"inputPreview"`
	DurationMS   *int64          `json:"durationMs"`
	Usage        *view.LineUsage `json:"usage"`
	Error        *view.LineError `json:"error"`
}

func lineOf(h journal.Head) runLine {
	l := view.LineOf(h)
	return runLine{l.ID, cmp.Or(l.WorkflowName, l.Workflow), l.Version, l.Branch, l.Format, l.Status, l.Waiting,
		l.Interrupted, l.WaitingFor, l.CreatedAt, l.UpdatedAt, l.EndedAt, l.ParentRun, l.Trigger, l.Labels,
		l.InputPreview, l.DurationMS, l.Usage, l.Error}
}

// title returns the workflow's name, its version in the catalog, and the branch if one ran (P38).
func (l runLine) title() string {
	t := l.Workflow
	if l.Version != nil {
		t += fmt.Sprintf(", version %d", *l.Version)
	}
	if l.Branch != nil {
		t += ", branch " + *l.Branch
	}
	return t
}

// maxListed is the maximum number of runs in one list.
const maxListed = 1_000_000

// maxPage is the maximum page size of a store.
const maxPage = 1000

// statusWaiting is the name of the status paused in rounds documents (docs/spec, S1-24).
const statusWaiting = "waiting_for_user"

func (a *app) runsListCmd() *cobra.Command {
	var (
		fl     runsFilter
		limit  int
		asJSON bool
	)
	c := &cobra.Command{
		Use: "list", Short: "list runs, newest first", Args: checkArgs(), Long: "Lists runs, newest first.\n\n" +
			filterHelp,
		Example: "  hocket runs list --label team=news --status failed\n  hocket runs list --query '\"the library\" " +
			"sunday*' --min-cost 0.10",
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return mustBe("limit", "1 or more", strconv.Itoa(limit))
			}
			limit = min(limit, maxListed)
			q, err := fl.query(c)
			if err != nil {
				return err
			}
			s, err := a.openBackend(c)
			if err != nil {
				return err
			}
			defer s.Close()
			lines, err := list(c.Context(), s, q, limit+1)
			if err != nil {
				return err
			}
			more := len(lines) > limit
			lines = lines[:min(limit, len(lines))]
			if asJSON {
				return writeJSON(a.Out, lines, a.OutTerminal)
			}
			if err := a.runTable(lines); err != nil {
				return err
			}
			if more && !a.quiet {
				fmt.Fprintf(a.Err, "showing the newest %d; use --limit for more\n", limit)
			}
			return nil
		},
	}
	a.addServerFlag(c)
	a.addRunsFilter(c, &fl)
	c.Flags().IntVar(&limit, "limit", 50, "at most `N`")
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	return c
}

// list returns the newest runs, reading them page by page.
func list(ctx context.Context, s stateReader, q journal.Query, limit int) ([]runLine, error) {
	lines := []runLine{}
	for len(lines) < limit {
		q.Limit = min(limit-len(lines), maxPage)
		heads, next, err := s.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, h := range heads {
			lines = append(lines, lineOf(h))
		}
		if q.Cursor = next; next == "" {
			break
		}
	}
	return lines, nil
}

func statusNames() []string {
	var names []string
	for _, s := range journal.Statuses() {
		names = append(names, string(s))
	}
	return names
}

func (a *app) runTable(lines []runLine) error {
	now := time.Now()
	return printTable(a, lines, "no runs", "RUN\tSTATUS\tSTARTED\tTOOK\tWORKFLOW", func(l runLine) []string {
		status, took := l.Status, ""
		switch {
		case l.WaitingFor != "":
			status = "waiting for place " + clean(l.WaitingFor)
		case l.Interrupted:
			status = "interrupted"
		case l.Waiting > 0:
			status = fmt.Sprintf("%s (%d waiting)", l.Status, l.Waiting)
		}
		if l.EndedAt != nil {
			took = duration(l.EndedAt.Sub(l.CreatedAt))
		}
		return []string{l.ID, status, ago(l.CreatedAt, now), took, clean(l.title())}
	})
}
