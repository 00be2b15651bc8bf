package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/view"
)

// Filter holds the conditions on runs in a list, as people and programs write them. The zero Filter
// has no conditions. A run must meet all conditions that are set (ADR 98).
type Filter struct {
	// Labels are selectors: `key=value`, `key!=value`, `key`, `!key`, or several of them separated
	// by commas.
	Labels []string
	// Search consists of words, "phrases" and prefixes* of words that the input, output and error
	// of a run contain.
	Search string
	// Format, Branch, Trigger and Code are exact; Code is the code of the run's error.
	Format, Branch, Trigger, Code string
	// MinCost and MaxCost are inclusive limits in US dollars; nil means no limit.
	MinCost, MaxCost *float64
	// MinDuration and MaxDuration are inclusive limits such as 90s; "" means no limit. Only runs
	// that have ended have a duration.
	MinDuration, MaxDuration string
}

// Apply adds the conditions of f to a query. It returns a *failure.InvalidError that names the
// invalid part of f.
func (f *Filter) Apply(q *journal.Query) (err error) {
	if q.Labels, err = ParseLabels(f.Labels); err != nil {
		return err
	}
	if f.Search != "" {
		if q.Search, err = journal.ParseSearch(f.Search); err != nil {
			return badFilter("q", err)
		}
		q.SearchText = f.Search
	}
	q.Format, q.Branch, q.Trigger, q.Code = f.Format, f.Branch, f.Trigger, f.Code
	if q.MinCost, err = money(f.MinCost); err != nil {
		return badFilter("minCost", err)
	}
	if q.MaxCost, err = money(f.MaxCost); err != nil {
		return badFilter("maxCost", err)
	}
	if q.MinDuration, err = duration(f.MinDuration); err != nil {
		return badFilter("minDuration", err)
	}
	if q.MaxDuration, err = duration(f.MaxDuration); err != nil {
		return badFilter("maxDuration", err)
	}
	return nil
}

// ParseLabels parses label selectors, as used in lists of runs and of workflows. It returns a
// *failure.InvalidError.
func ParseLabels(texts []string) ([]journal.Selector, error) {
	by, err := journal.ParseSelectors(texts)
	if err != nil {
		return nil, badFilter("label", err)
	}
	return by, nil
}

func badFilter(field string, err error) error {
	return failure.Refuse(errcode.InvalidFilter, errcode.Fields{"field": field, "cause": err}, err)
}

func money(usd *float64) (*chat.Money, error) {
	switch {
	case usd == nil:
		return nil, nil
	case math.IsNaN(*usd) || *usd < 0:
		return nil, errors.New("a cost is a number of US dollars from 0 on")
	}
	return new(chat.ToMoney(*usd)), nil
}

func duration(text string) (*time.Duration, error) {
	if text == "" {
		return nil, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return nil, fmt.Errorf("invalid duration %q: write it as 90s or 1h30m", text)
	}
	return &d, nil
}

// RunCounts counts the runs of q by common properties.
func (s *Runner) RunCounts(ctx context.Context, q journal.Query) (view.RunCounts, error) {
	tallies, err := s.store.Counts(ctx, q)
	return view.CountsOf(tallies), err
}
