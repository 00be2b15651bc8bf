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

// Filter is what people and programs ask of runs in a list, as they write it. The zero Filter asks for nothing. All that is set is joined by and (ADR 98).
type Filter struct {
	// Labels are selectors: `key=value`, `key!=value`, `key`, `!key`, several with commas.
	Labels []string
	// Search are words, "phrases" and beginnings* of words that the input, output and error of a run have.
	Search string
	// Format, Branch, Trigger and Code are exact; Code is that of the error of the run.
	Format, Branch, Trigger, Code string
	// MinCost and MaxCost are US dollars, included; nil: no bound.
	MinCost, MaxCost *float64
	// MinDuration and MaxDuration are durations such as 90s, included; "": no bound. Only runs that have ended have one.
	MinDuration, MaxDuration string
}

// Apply adds what f asks for to a query. Errors: *failure.InvalidError that names the part of f.
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

// ParseLabels reads selectors of labels, as lists of runs and of workflows have them. Errors: *failure.InvalidError.
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

// RunCounts counts the runs of q by what they have in common.
func (s *Runner) RunCounts(ctx context.Context, q journal.Query) (view.RunCounts, error) {
	tallies, err := s.store.Counts(ctx, q)
	return view.CountsOf(tallies), err
}
