package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// latestRun refers to the newest run that was not started by another run.
const latestRun = "latest"

// runArgHelp describes the RUN argument, for the help of verbs that accept one.
const runArgHelp = "RUN is the id of a run, a unique prefix of one, or \"latest\": the newest run that\nwas not " +
	"started by another run."

// maxCandidates is the maximum number of runs listed for an ambiguous id prefix.
const maxCandidates = 10

// runID returns the id of the run that a person means by an id, a prefix of one, or latestRun. If
// typed is the full id of a run, it always means that run. A string that is no run's prefix is
// returned unchanged; looking it up reports that there is no such run. If several runs match, the
// error has exit status 2 and lists them.
func (a *app) runID(ctx context.Context, s stateReader, typed string) (string, error) {
	if typed == "" {
		return "", usageErrorf("RUN is empty; give the id of a run, a prefix of one, or %s", latestRun)
	}
	hits, more, err := s.List(ctx, journal.Query{Prefix: typed, Limit: maxCandidates})
	if err != nil {
		return "", err
	}
	for _, h := range hits {
		if h.Run == typed {
			return typed, nil
		}
	}
	if more != "" { // the run with exactly this id may be older
		switch _, err := s.View(ctx, typed); {
		case err == nil:
			return typed, nil
		case !errors.Is(err, journal.ErrNotFound):
			return "", err
		}
	}
	switch {
	case typed == latestRun:
		return a.newest(ctx, s)
	case len(hits) == 0:
		return typed, nil
	case len(hits) == 1:
		return hits[0].Run, nil
	}
	lines := []string{quote(typed) + " is ambiguous: it is a prefix of several run ids:"}
	now := time.Now()
	for _, h := range hits {
		l := lineOf(h)
		lines = append(lines, fmt.Sprintf("  %s  %s, %s, %s", l.ID, l.Status, ago(l.CreatedAt, now), clean(l.title())))
	}
	if more != "" {
		lines = append(lines, fmt.Sprintf("  and more; these are the newest %d", len(hits)))
	}
	return "", usageErrorf("%s", strings.Join(lines, "\n"))
}

// runIDsOf is runID for several arguments.
func (a *app) runIDsOf(ctx context.Context, s stateReader, typed []string) (ids []string, err error) {
	for _, t := range typed {
		id, err := a.runID(ctx, s, t)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// newest returns the newest run that was not started by another run.
func (a *app) newest(ctx context.Context, s stateReader) (string, error) {
	q := journal.Query{Limit: 1}
	for {
		heads, next, err := s.List(ctx, q)
		if err != nil {
			return "", err
		}
		for _, h := range heads {
			if h.Parent == "" {
				return h.Run, nil
			}
		}
		if q.Cursor, q.Limit = next, maxPage; next == "" {
			if db := s.DB(); db != service.Memory {
				return "", usageErrorf("there is no latest run: there are no runs in %s", db)
			}
			// the default store does not exist yet
			return "", usageErrorf("there is no latest run: nothing has run yet")
		}
	}
}
