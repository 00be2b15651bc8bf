package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) runsCmd() *cobra.Command {
	list := a.runsListCmd()
	c := &cobra.Command{Use: "runs", Short: "look at recorded runs, and clear them", Args: cobra.NoArgs, RunE: list.RunE}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(list, a.runsShowCmd(), a.runsEventsCmd(), a.runsPruneCmd())
	return c
}

// runLine is a run in `runs list --json`.
type runLine struct {
	ID          string    `json:"id"`
	Workflow    string    `json:"workflow"`
	Format      string    `json:"format"`
	Status      string    `json:"status"`
	Waiting     int       `json:"waiting"`
	Interrupted bool      `json:"interrupted"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	ParentRun   string    `json:"parentRun,omitempty"`
}

func (a *app) runsListCmd() *cobra.Command {
	var (
		statuses []string
		workflow string
		limit    int
		asJSON   bool
		waiting  bool
	)
	c := &cobra.Command{
		Use: "list", Short: "list runs, newest first", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q := journal.Query{Workflow: workflow, Limit: limit}
			if limit < 1 {
				return usef("--limit %d: it must be at least 1", limit)
			}
			for _, st := range statuses {
				if !journal.Status(st).IsKnown() {
					return usef("--status %q: it is one of %s", st, join(journal.Statuses()))
				}
				q.Statuses = append(q.Statuses, journal.Status(st))
			}
			q.Interrupted = waiting
			s, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			lines := []runLine{}
			for len(lines) < limit {
				q.Limit = min(limit-len(lines), 1000)
				heads, next, err := s.List(c.Context(), q)
				if err != nil {
					return err
				}
				for _, h := range heads {
					lines = append(lines, runLine{h.Run, name(h), h.Format, string(h.Status), h.Waiting, h.Interrupted, h.Created, h.Updated, h.Parent})
				}
				if q.Cursor = next; next == "" {
					break
				}
			}
			if asJSON {
				return writeJSON(a.Out, lines, a.OutTerminal)
			}
			return a.runTable(lines)
		},
	}
	c.Flags().StringSliceVar(&statuses, "status", nil, "only runs of this status; may be given more than once")
	c.Flags().StringVar(&workflow, "workflow", "", "only runs of this workflow")
	c.Flags().BoolVar(&waiting, "interrupted", false, "only runs that no process drives")
	c.Flags().IntVar(&limit, "limit", 50, "at most this many")
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	return c
}

func join[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, x := range list {
		s[i] = string(x)
	}
	return strings.Join(s, ", ")
}

func name(h journal.Head) string {
	if h.WorkflowName != "" {
		return h.WorkflowName
	}
	return h.Workflow
}

func (a *app) runTable(lines []runLine) error {
	if len(lines) == 0 {
		if !a.quiet {
			fmt.Fprintln(a.Err, "no runs")
		}
		return nil
	}
	now := time.Now()
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTATUS\tWORKFLOW\tSTARTED\tUPDATED")
	for _, l := range lines {
		status := l.Status
		switch {
		case l.Interrupted:
			status = "interrupted"
		case l.Waiting > 0:
			status = fmt.Sprintf("%s (%d waiting)", l.Status, l.Waiting)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", l.ID, status, clean(l.Workflow), ago(l.CreatedAt, now), ago(l.UpdatedAt, now))
	}
	return t.Flush()
}

func (a *app) runsShowCmd() *cobra.Command {
	var asJSON, logs, trail, stepContext bool
	c := &cobra.Command{
		Use: "show RUN", Short: "show one run", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.open(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			rec, err := s.Read(c.Context(), args[0])
			if err != nil {
				return notFound(err, args[0])
			}
			folder := project.Fold(args[0], rec.Workflow, rec.Events)
			switch {
			case logs:
				entries := project.Logs(rec.Workflow, rec.Events)
				if asJSON {
					return writeJSON(a.Out, entries, a.OutTerminal)
				}
				for _, e := range entries {
					fmt.Fprintf(a.Out, "%s  %-14s %-16s %s\n", e.Timestamp.Format(time.RFC3339), e.NodeID, e.Type, clean(e.Content))
				}
				return nil
			case trail:
				entries := folder.Trail()
				if asJSON {
					return writeJSON(a.Out, entries, a.OutTerminal)
				}
				return a.showTrail(entries)
			case stepContext:
				if asJSON {
					fmt.Fprintf(a.Out, "%s\n", folder.Context())
					return nil
				}
				fmt.Fprintf(a.Out, "%s\n", indent(folder.Context()))
				return nil
			case asJSON:
				return writeJSON(a.Out, rec.Object(), a.OutTerminal)
			}
			return a.showRun(rec.Object())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: the run object, or the projection asked for")
	c.Flags().BoolVar(&logs, "logs", false, "the log entries")
	c.Flags().BoolVar(&trail, "trail", false, "input and output of each agent")
	c.Flags().BoolVar(&stepContext, "context", false, "the step context")
	c.MarkFlagsMutuallyExclusive("logs", "trail", "context")
	return c
}

func (a *app) showTrail(entries []project.TrailEntry) error {
	for _, e := range entries {
		fmt.Fprintf(a.Out, "%d  %s (%s)\n", e.Order, clean(e.NodeID), clean(e.AgentName))
		for _, x := range [][2]string{{"in", outputText(e.Input)}, {"out", outputText(e.Output)}} {
			for i, l := range strings.Split(printable(x[1]), "\n") {
				label := ""
				if i == 0 {
					label = x[0]
				}
				fmt.Fprintf(a.Out, "   %-4s %s\n", label, l)
			}
		}
	}
	return nil
}

func (a *app) showRun(o project.Run) error {
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	status := string(o.Status)
	if o.Interrupted {
		status += " (interrupted: no process drives it)"
	}
	fmt.Fprintf(t, "run\t%s\nstatus\t%s\n", o.ID, status)
	for _, x := range []struct {
		label string
		value *string
	}{{"workflow", o.Workflow.Name}, {"format", o.Workflow.Format}, {"parent", o.ParentRun}, {"forked from", o.ForkedFrom}} {
		if x.value != nil && *x.value != "" {
			fmt.Fprintf(t, "%s\t%s\n", x.label, clean(*x.value))
		}
	}
	if o.StartedAt != nil {
		fmt.Fprintf(t, "started\t%s\n", o.StartedAt.Format(time.RFC3339))
	}
	if o.EndedAt != nil {
		fmt.Fprintf(t, "ended\t%s\n", o.EndedAt.Format(time.RFC3339))
	}
	cost := "unknown"
	if o.Usage.CostUSD != nil {
		cost = fmt.Sprintf("%.4f USD", *o.Usage.CostUSD)
	}
	fmt.Fprintf(t, "used\t%d model calls, %d tool calls, %d tokens in, %d out, cost %s\n", o.Usage.ModelCalls, o.Usage.ToolCalls, o.Usage.InputTokens, o.Usage.OutputTokens, cost)
	if o.Error != nil {
		fmt.Fprintf(t, "error\t%s (%s)\n", clean(o.Error.Message), o.Error.Code)
	}
	for _, w := range o.Waiting {
		fmt.Fprintf(t, "waiting\t%s at %s (%s) %s\n", w.ID, clean(w.Node), w.Kind, short(clean(w.Prompt), 100))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	if len(o.Steps) > 0 {
		fmt.Fprintln(a.Out)
		fmt.Fprintln(t, "STEP\tNODE\tKIND\tSTATUS\tTRIES\tTIME\tTOKENS")
		for _, st := range o.Steps {
			took := ""
			if st.DurationMS != nil {
				took = duration(time.Duration(*st.DurationMS) * time.Millisecond)
			}
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%s\t%d\n", st.Seq, clean(st.Node), st.Kind, st.Status, st.Attempt, took, st.Usage.InputTokens+st.Usage.OutputTokens)
		}
		if err := t.Flush(); err != nil {
			return fmt.Errorf("write run: %w", err)
		}
	}
	if o.Status == engine.StatusCompleted {
		fmt.Fprintf(a.Out, "\n%s\n", printable(outputText(o.Output)))
	}
	return nil
}

func (a *app) runsEventsCmd() *cobra.Command {
	var follow bool
	var after uint64
	c := &cobra.Command{
		Use: "events RUN", Short: "print the events of a run, one JSON line each", Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			ctx, run := c.Context(), args[0]
			s, err := a.open(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			rec, err := s.Read(ctx, run)
			if err != nil {
				return notFound(err, run)
			}
			folder := project.NewFolder(run, rec.Workflow)
			print := func(e engine.Event) error {
				shown := folder.Expand(e)
				folder.Add(e)
				if e.Seq <= after {
					return nil
				}
				line, err := journal.MarshalEvent(run, shown)
				if err != nil {
					return err
				}
				_, err = a.Out.Write(append(line, '\n'))
				return err
			}
			var last uint64
			for _, e := range rec.Events {
				if err := print(e); err != nil {
					return err
				}
				last = e.Seq
			}
			if !follow {
				return nil
			}
			return a.followEvents(ctx, s, run, last, print)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	c.Flags().Uint64Var(&after, "after", 0, "only events after this number")
	return c
}

func (a *app) followEvents(ctx context.Context, s *service.Service, run string, last uint64, print func(engine.Event) error) error {
	for u, err := range s.Watch(ctx, run, last) {
		if err != nil {
			if ctx.Err() != nil {
				return &exit{status: ExitInterrupted}
			}
			return err
		}
		if u.Event != nil {
			if err := print(*u.Event); err != nil {
				return err
			}
		}
	}
	return nil
}

// completeRuns completes run ids.
func (a *app) completeRuns(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	s, err := a.open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	heads, _, err := s.List(ctx, journal.Query{Limit: 100})
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var ids []string
	for _, h := range heads {
		if strings.HasPrefix(h.Run, prefix) {
			ids = append(ids, h.Run+"\t"+string(h.Status)+" "+clean(name(h)))
		}
	}
	return slices.Clip(ids), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
