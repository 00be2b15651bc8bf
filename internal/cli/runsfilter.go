package cli

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

// runsFilter holds the flags that filter lists of runs.
type runsFilter struct {
	statuses         []string
	workflow         string
	interrupted      bool
	by               service.Filter
	minCost, maxCost float64
}

const filterHelp = `Filters are joined by and. A search has words, "phrases" and beginnings* of words; a
run is found if its input, output and error have all of them. Label selectors are
KEY=VALUE, KEY!=VALUE, KEY (any value) and !KEY (not there).`

func (a *app) addRunsFilter(c *cobra.Command, fl *runsFilter) {
	f := c.Flags()
	f.StringSliceVar(&fl.statuses, "status", nil, "only runs with this `STATUS` (repeatable)")
	f.StringVar(&fl.workflow, "workflow", "", "only runs of this `WORKFLOW`")
	f.BoolVar(&fl.interrupted, "interrupted", false, "only runs that no process drives")
	f.StringArrayVar(&fl.by.Labels, "label", nil, "only runs that this `SELECTOR` of labels selects (repeatable)")
	f.StringVar(&fl.by.Search, "query", "", "only runs with these `WORDS` in input, output or error")
	f.StringVar(&fl.by.Format, "format", "", "only runs of documents in this `FORMAT`")
	f.StringVar(&fl.by.Branch, "branch", "", "only runs of the branch with this `ID`")
	f.StringVar(&fl.by.Trigger, "trigger", "", "only runs that this `TRIGGER` began: "+strings.Join(service.Triggers(),
		", "))
	f.StringVar(&fl.by.Code, "code", "", "only runs that failed with this `CODE`")
	f.Float64Var(&fl.minCost, "min-cost", 0, "only runs that cost this many `USD` or more")
	f.Float64Var(&fl.maxCost, "max-cost", 0, "only runs that cost this many `USD` or less")
	f.StringVar(&fl.by.MinDuration, "min-duration", "",
		"only runs that ended after this `DURATION` or more, such as 90s")
	f.StringVar(&fl.by.MaxDuration, "max-duration", "", "only runs that ended after this `DURATION` or less")
	must(c.RegisterFlagCompletionFunc("workflow", a.completeWorkflow))
	must(c.RegisterFlagCompletionFunc("status",
		cobra.FixedCompletions(statusNames(), cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("label", a.completeLabel))
	must(c.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions(format.Names(), cobra.ShellCompDirectiveNoFileComp)))
	must(c.RegisterFlagCompletionFunc("trigger",
		cobra.FixedCompletions(service.Triggers(), cobra.ShellCompDirectiveNoFileComp)))
}

// query returns the store query for the flags.
func (fl *runsFilter) query(c *cobra.Command) (journal.Query, error) {
	q := journal.Query{Workflow: fl.workflow, Interrupted: fl.interrupted}
	for _, st := range fl.statuses {
		if st == statusWaiting {
			st = string(journal.StatusPaused)
		}
		if !journal.Status(st).IsKnown() {
			return q, mustBe("status", "one of "+strings.Join(statusNames(), ", "), st)
		}
		q.Statuses = append(q.Statuses, journal.Status(st))
	}
	if fl.by.Trigger != "" && !slices.Contains(service.Triggers(), fl.by.Trigger) {
		return q, mustBe("trigger", "one of "+strings.Join(service.Triggers(), ", "), fl.by.Trigger)
	}
	by := fl.by
	if c.Flags().Changed("min-cost") {
		by.MinCost = &fl.minCost
	}
	if c.Flags().Changed("max-cost") {
		by.MaxCost = &fl.maxCost
	}
	return q, by.Apply(&q)
}

func (a *app) runsCountsCmd() *cobra.Command {
	var fl runsFilter
	var asJSON bool
	c := &cobra.Command{
		Use: "counts", Short: "count runs by status, workflow, trigger and format", Args: checkArgs(),
		Long:    "Counts runs by status, workflow, trigger and format.\n\n" + filterHelp,
		Example: "  hocket runs counts --label team=news\n  hocket runs counts --query timeout --json",
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := fl.query(c)
			if err != nil {
				return err
			}
			s, err := a.openBackend(c)
			if err != nil {
				return err
			}
			defer s.Close()
			counts, err := s.RunCounts(c.Context(), q)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.Out, counts, a.OutTerminal)
			}
			return a.countsTable(counts)
		},
	}
	a.addServerFlag(c)
	a.addRunsFilter(c, &fl)
	c.Flags().BoolVar(&asJSON, "json", false, "print an object as JSON")
	return c
}

func (a *app) countsTable(counts view.RunCounts) error {
	type line struct {
		by, name string
		n        int
	}
	var lines []line
	add := func(by string, of map[string]int) {
		for _, name := range slices.SortedFunc(maps.Keys(of), func(x, y string) int {
			return cmp.Or(cmp.Compare(of[y], of[x]), cmp.Compare(x, y))
		}) {
			lines = append(lines, line{by, name, of[name]})
		}
	}
	add("status", counts.Status)
	add("workflow", counts.Workflow)
	if counts.Others > 0 {
		lines = append(lines, line{"workflow", "all others", counts.Others})
	}
	add("trigger", counts.Trigger)
	add("format", counts.Format)
	if len(lines) > 0 {
		lines = append(lines, line{"all", "", counts.Total})
	}
	return printTable(a, lines, "no runs", "BY\tVALUE\tRUNS", func(l line) []string {
		return []string{l.by, cmp.Or(clean(l.name), "-"), strconv.Itoa(l.n)}
	})
}

// labelsText returns labels as people write them, sorted by key.
func labelsText(labels map[string]string) string {
	words := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, clean(key+"="+labels[key]))
	}
	return strings.Join(words, ",")
}

// labelFlag parses the values of --label of commands that start runs.
func labelFlag(texts []string) (workflow.Labels, error) {
	labels := workflow.Labels{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, mustBe("label", "KEY=VALUE", text)
		}
		if former, is := labels[key]; is && former != value {
			return nil, usageErrorf("--label %s is given with two values", key)
		}
		labels[key] = value
	}
	if err := labels.Check(); err != nil {
		return nil, usageErrorf("--label: %v", err)
	}
	return labels, nil
}
