package journal_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// This example creates a run whose process dies; another process takes it over, and the first, if
// it is still alive, is fenced.
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m := journal.NewMemory()

	first := m.Open(journal.KindRun)
	a := journal.Append{
		Run:    "r1",
		Create: &journal.NewRun{Workflow: "weekly", Kind: journal.KindRun, Created: now},
		Record: journal.Record{First: 1, Last: 2, Data: []byte("two events")},
		At:     now, Status: journal.StatusRunning,
	}
	fmt.Println(first.Append(ctx, a))
	_ = first.Close()

	second := m.Open(journal.KindRun)
	head, err := second.Claim(ctx, "r1")
	fmt.Println(head.Epoch, head.LastSeq, err)
	a.Create, a.Epoch = nil, 1 // of the previous epoch
	a.Record = journal.Record{First: 3, Last: 3, Data: []byte("late")}
	fmt.Println(errors.Is(second.Append(ctx, a), journal.ErrFenced))
	a.Epoch = head.Epoch
	fmt.Println(second.Append(ctx, a))

	records, err := second.Read(ctx, "r1", 0)
	for _, r := range records {
		fmt.Printf("%d-%d %s\n", r.First, r.Last, r.Data)
	}
	fmt.Println(err)
	// Output:
	// <nil>
	// 2 2 <nil>
	// true
	// <nil>
	// 1-2 two events
	// 3-3 late
	// <nil>
}
