package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) runsShowCmd() *cobra.Command {
	var sh shown
	c := &cobra.Command{
		Use: "show RUN", Short: "show one run", Args: checkArgs("RUN"), ValidArgsFunction: a.completeRuns,
		Long: "Shows one run: what it is, what it waits for, its steps and its output; or one of its " +
			"projections.\n" + runArgHelp,
		Example: "  hocket runs show RUN\n  hocket runs show RUN --json\n  hocket runs show RUN --trail",
		RunE: func(c *cobra.Command, args []string) error {
			if err := atMostOne(c, "logs", "trail", "context"); err != nil {
				return err
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
			return a.showView(c.Context(), s, run, sh)
		},
	}
	a.addServerFlag(c)
	c.Flags().BoolVar(&sh.json, "json", false, "print JSON: the run object, or the projection asked for")
	c.Flags().BoolVar(&sh.logs, "logs", false, "show the log entries")
	c.Flags().BoolVar(&sh.trail, "trail", false, "show the input and output of each agent")
	c.Flags().BoolVar(&sh.context, "context", false, "show the step context")
	c.Flags().BoolVar(&sh.full, "full", false, fullUsage)
	return c
}

// maxChildRuns is the maximum number of child runs shown under their parent run.
const maxChildRuns = 1000

// maxLogTool is the maximum width in columns of tool calls and their results in logs for people.
const maxLogTool = 200

func (a *app) showLogs(entries []project.LogEntry) error {
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		text := clean(e.Content)
		switch e.Type {
		case project.LogToolCall, project.LogToolResult, project.LogToolError:
			text = brief(e.Content, maxLogTool)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", e.Timestamp.Local().Format(time.TimeOnly), clean(e.NodeID),
			clean(string(e.Type)), text)
	}
	return flush(t)
}

func flush(t *tabwriter.Writer) error {
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write run: %w", err)
	}
	return nil
}

func (a *app) showTrail(entries []project.TrailEntry) {
	for _, e := range entries {
		title := clean(e.NodeID)
		if name := clean(e.AgentName); name != "" && name != title {
			title += " (" + name + ")"
		}
		fmt.Fprintf(a.Out, "%s\n", a.outColor.bold(fmt.Sprintf("%d  %s", e.Order, title))+a.outColor.dim(trailRest(e)))
		block(a.Out, "in", outputText(e.Input))
		if e.Prompt != nil {
			block(a.Out, "sent", outputText(e.Prompt))
		}
		for _, c := range e.ToolCalls {
			said := "→ " + brief(outputText(c.Result), maxToolResult)
			if c.Error != nil {
				said = "failed: " + brief(outputText(c.Error), maxToolResult)
			}
			block(a.Out, "tool", clean(c.Tool)+" "+brief(outputText(c.Arguments), maxToolArgs)+"  "+said)
		}
		if e.Error != nil {
			block(a.Out, "error", *e.Error)
			continue
		}
		block(a.Out, "out", outputText(e.Output))
	}
}

// noTrail explains why nothing is shown: a run of all branches has no agents of its own.
func (a *app) noTrail(ctx context.Context, s stateReader, run string) error {
	below, err := list(ctx, s, journal.Query{Parent: run}, 1)
	switch {
	case err != nil || a.quiet:
		return err
	case len(below) > 0:
		fmt.Fprintf(a.Err, "no agent ran in this run; the runs that it started have their own trails: hocket runs "+
			"show %s\n", quote(run))
	default:
		fmt.Fprintln(a.Err, "no agent ran in this run")
	}
	return nil
}

// trailRest returns the round and the destination of the output, if there is anything to add.
func trailRest(e project.TrailEntry) string {
	text := ""
	if e.Round > 0 {
		text = fmt.Sprintf("  round %d", e.Round)
	}
	if e.SentToNodeID != "" {
		text += "  to " + clean(e.SentToNodeID)
	}
	return text
}

// block prints a text of several lines next to a label.
func block(w io.Writer, label, text string) {
	for l := range strings.SplitSeq(printable(text), "\n") {
		fmt.Fprintf(w, "   %-5s  %s\n", label, l)
		label = ""
	}
}

// turnText describes the position of a run in the queue of its concurrency key.
func turnText(t project.Turn) string {
	if t.Before == 0 {
		return "it is next, when run " + t.Run + " or another one of its concurrency key has ended"
	}
	return fmt.Sprintf("%s of its concurrency key before it, the last of them %s", pluralize(t.Before, "run"), t.Run)
}

// showRun prints a run, including the output of steps; program is the program that has the
// functions of a Go graph, or "" for other runs.
func (a *app) showRun(o project.Run, program string, steps func() error) error {
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	status := string(o.Status)
	if o.WaitingFor != "" {
		status += fmt.Sprintf(" (waiting for place %s: no living process has it; hocket worker --place %s there "+
			"continues it)", clean(o.WaitingFor), quote(o.WaitingFor))
	} else if o.Interrupted {
		how := "hocket resume " + quote(o.ID)
		if program != "" {
			how = "its program continues it"
		}
		status += " (interrupted: no process drives it; " + how + ")"
	}
	if o.Turn != nil {
		status += " (" + turnText(*o.Turn) + ")"
	}
	fmt.Fprintf(t, "run\t%s\nstatus\t%s\n", clean(o.ID), clean(status))
	from := "forked from"
	if o.Retry {
		from = "retry of"
	}
	for _, x := range []struct {
		label string
		value *string
	}{{"workflow", o.Workflow.Name}, {"branch", o.Workflow.Branch}, {"format", o.Workflow.Format},
		{"program", &program}, {"parent", o.ParentRun}, {from, o.ForkedFrom}} {
		if x.value != nil && *x.value != "" {
			fmt.Fprintf(t, "%s\t%s\n", x.label, clean(*x.value))
		}
	}
	if o.Workflow.Version != nil {
		fmt.Fprintf(t, "version\t%d\n", *o.Workflow.Version)
	}
	if len(o.Labels) > 0 {
		fmt.Fprintf(t, "labels\t%s\n", labelsText(o.Labels))
	}
	if input := clean(outputText(o.Input)); input != "" {
		fmt.Fprintf(t, "input\t%s\n", short(input, 100))
	}
	if state := stateText(o); state != "" {
		fmt.Fprintf(t, "state\t%s\n", short(clean(state), 100))
	}
	if o.StartedAt != nil {
		fmt.Fprintf(t, "started\t%s\n", o.StartedAt.Local().Format(time.DateTime))
	}
	if o.EndedAt != nil && o.StartedAt != nil {
		fmt.Fprintf(t, "ended\t%s, after %s\n", o.EndedAt.Local().Format(time.DateTime),
			duration(o.EndedAt.Sub(*o.StartedAt)))
	}
	fmt.Fprintf(t, "used\t%s\n", usageText(o.Usage))
	if o.Error != nil {
		at := ""
		if o.Error.Node != nil && *o.Error.Node != "" {
			at = "at " + clean(*o.Error.Node) + ": "
		}
		fmt.Fprintf(t, "error\t%s%s (%s)\n", at, clean(o.Error.Message), clean(o.Error.Code))
	}
	if err := flush(t); err != nil {
		return err
	}
	if err := steps(); err != nil {
		return err
	}
	for _, w := range o.Waiting {
		fmt.Fprintf(a.Out, "\n%s\n", a.outColor.bold(clean(fmt.Sprintf("waits: %s, %s at %s since %s", w.ID, w.Kind,
			w.Node, w.Since.Local().Format(time.DateTime)))))
		for _, x := range [][2]string{{"asks", escaped(w.Prompt)}, {"about", toApprove(w)}, {"takes", answers(w)},
			{"for", clean(escaped(strings.Join(w.Roles, ", ")))}} {
			if x[1] != "" {
				block(a.Out, x[0], x[1])
			}
		}
		if program == "" {
			block(a.Out, "reply", a.answerLine(o, w))
		}
	}
	a.showAnswers(o.Answers)
	if o.Status == event.StatusCompleted && (o.Output != nil || o.State == nil) {
		fmt.Fprintf(a.Out, "\n%s\n", printable(outputText(o.Output)))
	}
	return nil
}

// showAnswers prints the answers, with their authors and times.
func (a *app) showAnswers(answers []project.Answer) {
	for _, x := range answers {
		about, said := clean(x.Node), x.Decision
		if x.Tool != "" {
			about += ", tool " + clean(x.Tool)
		}
		switch {
		case x.Answer != nil:
			said = escapedLine(short(outputText(x.Answer), 100))
		case x.Decision == "":
			said = "closed at its deadline"
		}
		if note := strings.TrimSpace(x.Note); note != "" {
			said += ": " + escapedLine(short(note, 100))
		}
		fmt.Fprintf(a.Out, "\n%s\n", a.outColor.bold(clean(fmt.Sprintf("answer: %s, %s at %s", x.Wait, x.Kind,
			about))))
		block(a.Out, "said", said)
		if x.Arguments != nil {
			block(a.Out, "held", escapedLine(short(string(x.Held), 2000)))
			block(a.Out, "made", escapedLine(short(string(x.Arguments), 2000)))
		}
		block(a.Out, "by", clean(x.By.String())+", "+x.At.Local().Format(time.DateTime))
	}
}

// stateText returns the state of a Go graph, which is its output, or "" for other runs.
func stateText(o project.Run) string {
	if o.Workflow.Format == nil || *o.Workflow.Format != service.FormatGraph {
		return ""
	}
	state, err := json.Marshal(o.State)
	if err != nil { // values in a journal are valid JSON
		return ""
	}
	return string(state)
}

func (a *app) showSteps(steps []project.Step, isFirst bool) error {
	if isFirst {
		fmt.Fprintln(a.Out)
	}
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	if isFirst {
		fmt.Fprintln(t, "STEP\tNODE\tKIND\tSTATUS\tTRIES\tTIME\tTOKENS\tMODEL")
	}
	for _, st := range steps {
		node, took, tokens, model := clean(st.Node), "", "", ""
		if st.Item != nil {
			node += fmt.Sprintf(" [%d]", *st.Item) // its iterations include those of other items
		} else if st.Iteration > 1 {
			node += fmt.Sprintf(" (%d)", st.Iteration)
		}
		if st.DurationMS != nil {
			took = duration(time.Duration(*st.DurationMS) * time.Millisecond)
		}
		if n := st.Usage.InputTokens + st.Usage.OutputTokens; n > 0 {
			tokens = strconv.FormatInt(n, 10)
		}
		if st.Model != nil {
			model = clean(*st.Model)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", st.Seq, node, clean(st.Kind),
			clean(statusText(st)), st.Attempt, took, tokens, model)
	}
	if err := flush(t); err != nil {
		return err
	}
	for _, st := range steps {
		if st.Items != nil {
			fmt.Fprintf(a.Out, "map: step %d, %s: %s\n", st.Seq, clean(st.Node), itemsText(st.Items))
		}
		for _, text := range st.Warnings {
			fmt.Fprintf(a.Out, "warning: step %d, %s: %s\n", st.Seq, clean(st.Node), clean(text))
		}
	}
	return nil
}

// statusText returns a step's status; for an approval, with the decision and its note.
func statusText(st project.Step) string {
	text := string(st.Status)
	if st.Decision == "" {
		return text
	}
	text += ", " + st.Decision
	if note := clean(strings.TrimSpace(st.Note)); note != "" {
		text += ": " + short(note, 60)
	}
	return text
}

func usageText(u project.TotalUsage) string {
	text := fmt.Sprintf("%s, %s, %s in, %d out", pluralize(u.ModelCalls, "model call"),
		pluralize(u.ToolCalls, "tool call"),
		pluralize(u.InputTokens, "token"), u.OutputTokens)
	switch {
	case u.CostUSD == nil && u.KnownCost == 0:
		return text + ", cost unknown"
	case u.CostUSD == nil:
		return text + fmt.Sprintf(", at least %s (cost of %s unknown)", money(u.KnownCost),
			pluralize(u.UnknownCosts, "call"))
	case u.KnownCost == 0:
		return text
	}
	return text + ", " + money(u.KnownCost)
}

// money formats an amount with as many digits as small amounts need.
func money(m chat.Money) string {
	switch usd := m.USD(); {
	case usd >= 1:
		return fmt.Sprintf("%.2f USD", usd)
	case usd >= 0.0001:
		return fmt.Sprintf("%.4f USD", usd)
	default:
		return strings.TrimRight(fmt.Sprintf("%.9f", usd), "0") + " USD"
	}
}
