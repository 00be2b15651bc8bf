package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hocket-run/hocket/bench/internal/fill"
	"github.com/hocket-run/hocket/internal/journal"
)

const (
	// workers is how many goroutines append concurrently, so that one commit stores the records of
	// many runs.
	workers = 500
	// copyInterval is the time between two copies: 100,000 copies span three weeks, since servers
	// delete runs that ended more than 30 days ago.
	copyInterval = 20 * time.Second
)

// original is a run to be copied.
type original struct {
	head    journal.Head
	records []journal.Record
}

// copies adds n copies of the runs of a store in turn, newest first. Existing copies are not copied
// themselves, and numbering continues after them. The first failure stops it and is returned.
func copies(ctx context.Context, s journal.Backend, n int) error {
	list, had, err := originals(ctx, s)
	if err != nil {
		return err
	}
	first := time.Now().Add(-time.Duration(n) * copyInterval)
	numbers := make(chan int)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range numbers { // drains after a failure, so that no sender blocks
				if ctx.Err() != nil {
					continue
				}
				if err := s.Append(ctx,
					list[i%len(list)].copied(had+i, first.Add(time.Duration(i)*copyInterval))); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
	return context.Cause(ctx)
}

// originals returns the runs of a store that are not copies. next is the number of the next copy.
func originals(ctx context.Context, s journal.Backend) (list []original, next int, err error) {
	for q := (journal.Query{Limit: 1000}); ; {
		heads, cursor, err := s.List(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		for _, h := range heads {
			if i, ok := fill.Number(h.Run); ok {
				next = max(next, i+1)
				continue
			}
			if h.Status.IsActive() {
				return nil, 0, fmt.Errorf("run %s is %s", h.Run, h.Status)
			}
			records, err := s.Read(ctx, h.Run, 0)
			if err != nil {
				return nil, 0, err
			}
			list = append(list, original{head: h, records: records})
		}
		if q.Cursor = cursor; cursor == "" {
			break
		}
	}
	if len(list) == 0 {
		return nil, 0, errors.New("the store has no run to copy")
	}
	return list, next, nil
}

// topics and places are words for the inputs of copies: each word occurs in some of the runs.
var (
	topics = []string{"invoice", "refund", "delivery", "contract", "newsletter", "translation", "review", "booking",
		"complaint", "inventory"}
	places = []string{"Berlin", "Lisbon", "Oslo", "Kraków", "Nantes", "Porto", "Turin", "Ghent", "Graz", "Malmö",
		"Bergen", "Seville", "Bologna"}
)

// copied returns the append that creates copy i at the given time.
func (o *original) copied(i int, at time.Time) journal.Append {
	input := fmt.Sprintf("%s %d for the office in %s", topics[i%len(topics)], i, places[i%len(places)])
	text, _ := json.Marshal(input) //nolint:errchkjson // a text
	created := o.head.NewRun
	created.Created, created.Preview = at, input
	created.Labels = journal.Labels{"team": fmt.Sprintf("team-%d", i%20), "ticket": fmt.Sprint(i)}
	if i%3 == 0 {
		created.Trigger = "schedule"
	}
	a := journal.Append{
		Run: fill.ID(i), Create: &created, Record: o.records[0], More: o.records[1:],
		At:     at.Add(o.head.Updated.Sub(o.head.Created)),
		Status: o.head.Status, Waiting: o.head.Waiting, Release: true,
		Index: &journal.Index{Texts: &journal.Texts{Input: text, Output: text, Error: o.head.Outcome.Message},
			Outcome: o.head.Outcome},
	}
	if created.Definition != "" {
		a.Blobs = []journal.Blob{{Hash: created.Definition}}
	}
	return a
}
