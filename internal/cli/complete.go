package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/journal"
)

// maxOffered bounds the ids that a shell is offered.
const maxOffered = 100

// runIDs gives the ids of the newest runs with what helps to choose; none where the store cannot be read.
func (a *app) runIDs(c *cobra.Command, prefix string, but []string) []string {
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	s, err := a.look(ctx)
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
		if strings.HasPrefix(l.ID, prefix) && !slices.Contains(but, l.ID) {
			ids = append(ids, cobra.CompletionWithDesc(l.ID, l.Status+" "+clean(l.Workflow)))
		}
	}
	return ids
}

const orderedWords = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// completeRuns completes the id of one run, the newest first.
func (a *app) completeRuns(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.runIDs(c, prefix, nil), orderedWords
}

// completeManyRuns completes the ids of further runs.
func (a *app) completeManyRuns(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.runIDs(c, prefix, args), orderedWords
}

// completeWaits completes ids of the open waits of the run that stands before, or of their nodes.
func (a *app) completeWaits(byNode bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx := c.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := a.look(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer s.Close()
		o, err := s.Show(ctx, args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		for _, w := range o.Waiting {
			word, about := w.ID, w.Kind+" at "+clean(w.Node)
			if byNode {
				word, about = clean(w.Node), w.Kind+" "+w.ID
			}
			if strings.HasPrefix(word, prefix) {
				words = append(words, cobra.CompletionWithDesc(word, about))
			}
		}
		return words, orderedWords
	}
}
