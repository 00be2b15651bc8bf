package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// maxOffered is the maximum number of ids offered to a shell.
const maxOffered = 100

// completeWithin is the default of Wiring.CompleteWithin.
const completeWithin = 2 * time.Second

// completing returns a context for a shell completion, and sets it as the context of c.
func (a *app) completing(c *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, done := context.WithTimeout(cmp.Or(c.Context(), context.Background()),
		cmp.Or(a.wiring.CompleteWithin, completeWithin))
	c.SetContext(ctx)
	return ctx, done
}

// isOpen reports whether the run has not ended. canResume reports whether resume may continue it:
// it is open, or a limit may have ended it.
func isOpen(l runLine) bool    { return l.EndedAt == nil }
func canResume(l runLine) bool { return isOpen(l) || l.Status == string(journal.StatusFailed) }

// runIDs returns the ids of the newest runs for which fits returns true, with descriptions, or none
// if the store cannot be read. A nil fits accepts all runs.
func (a *app) runIDs(c *cobra.Command, prefix string, but []string, fits func(runLine) bool) []string {
	ctx, done := a.completing(c)
	defer done()
	s, err := a.openBackend(c)
	if err != nil {
		return nil
	}
	defer s.Close()
	lines, err := list(ctx, s, journal.Query{}, maxOffered)
	if err != nil {
		return nil
	}
	var ids []string
	for _, l := range lines {
		if strings.HasPrefix(l.ID, prefix) && !slices.Contains(but, l.ID) && (fits == nil || fits(l)) {
			ids = append(ids, cobra.CompletionWithDesc(l.ID, l.Status+" "+clean(l.title())))
		}
	}
	return ids
}

const orderedWords = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// completeRuns completes the id of one run, newest first.
func (a *app) completeRuns(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.completeRunsOf(nil)(c, args, prefix)
}

// completeRunsOf is completeRuns for the runs for which fits returns true.
func (a *app) completeRunsOf(fits func(runLine) bool) cobra.CompletionFunc {
	return once(func(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		words := a.runIDs(c, prefix, nil, fits)
		if prefix != "" && strings.HasPrefix(latestRun, prefix) {
			words = append(words, cobra.CompletionWithDesc(latestRun, "the newest run"))
		}
		return words, orderedWords
	})
}

// completeManyRuns completes the ids of further runs.
func (a *app) completeManyRuns(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.runIDs(c, prefix, args, nil), orderedWords
}

// completeWorkflow completes the id of a stored workflow.
func (a *app) completeWorkflow(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.catalogIDs(c, prefix, func(ctx context.Context, s definitions) (words []string) {
		entries, err := s.Entries(ctx)
		if err != nil {
			return nil
		}
		for _, e := range entries {
			words = append(words, cobra.CompletionWithDesc(clean(e.ID), e.Format+" "+clean(e.Name)))
		}
		return words
	})
}

// completeLabel completes a label of a stored workflow, which its runs carry too.
func (a *app) completeLabel(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.catalogIDs(c, prefix, func(ctx context.Context, s definitions) []string {
		entries, err := s.Entries(ctx)
		if err != nil {
			return nil
		}
		of := map[string][]string{}
		for _, e := range entries {
			for key, value := range e.Labels {
				of[clean(key+"="+value)] = append(of[clean(key+"="+value)], clean(e.ID))
			}
		}
		var words []string
		for _, label := range slices.Sorted(maps.Keys(of)) {
			words = append(words, cobra.CompletionWithDesc(label, strings.Join(of[label], ", ")))
		}
		return words
	})
}

// completeAgent completes the id of a stored agent.
func (a *app) completeAgent(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.catalogIDs(c, prefix, func(ctx context.Context, s definitions) (words []string) {
		rows, err := s.Agents(ctx)
		if err != nil {
			return nil
		}
		for _, r := range rows {
			words = append(words, cobra.CompletionWithDesc(clean(r.ID()), clean(r.Text(1))))
		}
		return words
	})
}

// once completes only the first argument.
func once(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(c, args, prefix)
	}
}

// catalogIDs returns the ids that list returns for an existing store, if they start with prefix.
func (a *app) catalogIDs(c *cobra.Command, prefix string, list func(context.Context, definitions) []string) (
	[]string, cobra.ShellCompDirective) {
	ctx, done := a.completing(c)
	defer done()
	s, err := a.openDefinitions(c, a.openReader)
	if err != nil {
		return nil, orderedWords
	}
	defer s.Close()
	var words []string
	for _, w := range list(ctx, s) {
		if strings.HasPrefix(w, prefix) && len(words) < maxOffered {
			words = append(words, w)
		}
	}
	return words, orderedWords
}

// completeOfRun completes the words that words returns for the run named earlier on the command
// line, or none if the run cannot be read.
func (a *app) completeOfRun(words func(ctx context.Context, s stateReader, run string) (
	[]string, error)) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, done := a.completing(c)
		defer done()
		s, err := a.openBackend(c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.Close()
		run, err := a.runID(ctx, s, args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := words(ctx, s, run)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(all, func(word string) bool { return !strings.HasPrefix(word, prefix) }), orderedWords
	}
}

// completeWaits completes the ids of the open waits of the run named earlier on the command line,
// or of their nodes.
func (a *app) completeWaits(byNode bool) cobra.CompletionFunc {
	return a.completeOfRun(func(ctx context.Context, s stateReader, run string) (words []string, err error) {
		rec, err := s.Read(ctx, run)
		for _, w := range rec.Object().Waiting {
			word, about := w.ID, w.Kind+" at "+clean(w.Node)
			if byNode {
				word, about = clean(w.Node), w.Kind+" "+w.ID
			}
			words = append(words, cobra.CompletionWithDesc(word, about))
		}
		return words, err
	})
}

// completeSteps completes the steps executed by the run named earlier on the command line.
func (a *app) completeSteps() cobra.CompletionFunc {
	return a.completeOfRun(func(ctx context.Context, s stateReader, run string) (words []string, err error) {
		seen := map[string]bool{}
		err = s.EachEvent(ctx, run, 0, func(e event.Event) error {
			if _, ok := e.Data.(*event.StepStarted); ok && !seen[e.Node] {
				seen[e.Node] = true
				words = append(words, clean(e.Node))
			}
			return nil
		})
		return words, err
	})
}

// completeBranches completes the ids of the branches of the document or the stored workflow to run,
// or none if it cannot be read.
func (a *app) completeBranches(fl *runFlags) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx := c.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		var words []string
		for _, b := range a.branchesOf(ctx, fl, args) {
			if strings.HasPrefix(b.ID, prefix) {
				words = append(words, cobra.CompletionWithDesc(b.ID, strings.TrimSpace(b.Mode()+" "+clean(b.Name))))
			}
		}
		if len(words) > 0 && prefix == "" {
			words = append(words, cobra.CompletionWithDesc(service.AllBranches, "every one_time branch at once"))
		}
		return words, orderedWords
	}
}

// branchesOf returns the branches of the workflow that the flags and arguments name.
func (a *app) branchesOf(ctx context.Context, fl *runFlags, args []string) []*workflow.Workflow {
	var w *workflow.Workflow
	switch {
	case fl.workflow != "":
		s, err := a.openReader(ctx)
		if err != nil {
			return nil
		}
		defer s.Close()
		if w, _, _, err = s.LoadStored(ctx, fl.workflow, service.Which{Draft: fl.draft}, fl.load); err != nil {
			return nil
		}
	case len(args) > 0 && args[0] != "-":
		data, err := service.ReadFile(args[0], nil)
		if err != nil {
			return nil
		}
		if w, _, err = loadDocument(ctx, args[0], data, fl.load); err != nil {
			return nil
		}
	}
	if w == nil {
		return nil
	}
	return w.Branches
}

// completeModels completes the model names that hocket.yaml defines; documents and providers define
// more.
func (a *app) completeModels(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if a.operator == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(a.operator.Models)) {
		if m := a.operator.Models[name]; strings.HasPrefix(name, prefix) {
			words = append(words, cobra.CompletionWithDesc(name, m.Provider+"/"+m.Model))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeWebhooks completes the id of a webhook.
func (a *app) completeWebhooks(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.hookIDs(c, prefix, func(ctx context.Context, h *hooks.Hooks, s *service.Service) (words []string) {
		all, err := h.Webhooks(ctx, access.DefaultNamespace, s)
		if err != nil {
			return nil
		}
		for _, w := range all {
			words = append(words,
				cobra.CompletionWithDesc(w.ID, strings.TrimSpace(clean(w.Workflow)+" "+clean(w.Name))))
		}
		return words
	})
}

// completeNotifications completes the id of a notification that was given up.
func (a *app) completeNotifications(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.hookIDs(c, prefix, func(ctx context.Context, h *hooks.Hooks, s *service.Service) (words []string) {
		all, _, err := h.Notifications(ctx, access.DefaultNamespace, s,
			hooks.NotificationQuery{State: hooks.StateDead, Limit: maxOffered})
		if err != nil {
			return nil
		}
		for _, n := range all {
			words = append(words, cobra.CompletionWithDesc(n.ID, string(n.Type)+" "+clean(n.Endpoint)))
		}
		return words
	})
}

// hookIDs returns the ids that list returns for an existing store, if they start with prefix.
func (a *app) hookIDs(c *cobra.Command, prefix string,
	list func(context.Context, *hooks.Hooks, *service.Service) []string) ([]string, cobra.ShellCompDirective) {
	ctx, done := a.completing(c)
	defer done()
	if !a.exists(ctx) {
		return nil, orderedWords // opening it would create it
	}
	h, s, err := a.hooks(ctx)
	if err != nil {
		return nil, orderedWords
	}
	defer s.Close()
	var words []string
	for _, w := range list(ctx, h, s) {
		if strings.HasPrefix(w, prefix) && len(words) < maxOffered {
			words = append(words, w)
		}
	}
	return words, orderedWords
}

// exists reports whether there is a store to read; opening a missing one would create it.
func (a *app) exists(ctx context.Context) bool {
	at, err := a.config().Locator()
	if err != nil || at.IsMemory() {
		return false
	}
	view, err := at.Look(ctx)
	return view.Exists && err == nil
}
