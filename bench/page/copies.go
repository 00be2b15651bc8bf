package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	// workers append at a time, so that a commit stores the runs of many.
	workers = 500
	// between is the time between two copies: 100,000 of them are those of five weeks.
	between = 30 * time.Second
)

// original is a run that is copied.
type original struct {
	head    journal.Head
	records []journal.Record
}

// copies adds n copies of the runs of a store in turn, the oldest first.
func copies(ctx context.Context, s journal.Backend, n int) error {
	list, err := originals(ctx, s)
	if err != nil {
		return err
	}
	first := time.Now().Add(-time.Duration(n) * between)
	numbers := make(chan int)
	failed := make([]error, workers)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range numbers {
				if failed[w] != nil {
					continue // what is given out is taken, so that nothing waits
				}
				if failed[w] = s.Append(ctx, list[i%len(list)].copied(i, first)); failed[w] != nil {
					stop()
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	wg.Wait()
	return errors.Join(failed...)
}

// originals reads the runs of a store.
func originals(ctx context.Context, s journal.Backend) ([]original, error) {
	heads, _, err := s.List(ctx, journal.Query{})
	if err != nil {
		return nil, err
	}
	if len(heads) == 0 {
		return nil, errors.New("the store has no run to copy")
	}
	var list []original
	for _, h := range heads {
		if h.Status.IsActive() {
			return nil, fmt.Errorf("run %s is %s", h.Run, h.Status)
		}
		records, err := s.Read(ctx, h.Run, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, original{head: h, records: records})
	}
	return list, nil
}

// topics and places are what the inputs of copies speak of: a word of each is found in a part of the runs.
var (
	topics = []string{"invoice", "refund", "delivery", "contract", "newsletter", "translation", "review", "booking", "complaint", "inventory"}
	places = []string{"Berlin", "Lisbon", "Oslo", "Kraków", "Nantes", "Porto", "Turin", "Ghent", "Graz", "Malmö", "Bergen", "Seville", "Bologna"}
)

// copied gives the append that makes copy i.
func (o *original) copied(i int, first time.Time) journal.Append {
	at := first.Add(time.Duration(i) * between)
	input := fmt.Sprintf("%s %d for the office in %s", topics[i%len(topics)], i, places[i%len(places)])
	text, _ := json.Marshal(input) //nolint:errchkjson // a text
	created := o.head.NewRun
	created.Created, created.Preview = at, input
	created.Labels = journal.Labels{"team": fmt.Sprintf("team-%d", i%20), "ticket": fmt.Sprint(i)}
	if i%3 == 0 {
		created.Trigger = "schedule"
	}
	a := journal.Append{
		Run: fmt.Sprintf("01COPY%020d", i), Create: &created, Record: o.records[0], More: o.records[1:], At: at.Add(o.head.Updated.Sub(o.head.Created)),
		Status: o.head.Status, Waiting: o.head.Waiting, Release: true,
		Index: &journal.Index{Texts: &journal.Texts{Input: text, Output: text, Error: o.head.Outcome.Message}, Outcome: o.head.Outcome},
	}
	if created.Definition != "" {
		a.Blobs = []journal.Blob{{Hash: created.Definition}}
	}
	return a
}
