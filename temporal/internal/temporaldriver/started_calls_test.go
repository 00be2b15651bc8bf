package temporaldriver_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
)

// meeting is a store whose posts wait for each other.
type meeting struct {
	journal.Backend
	posts *sync.WaitGroup
}

func (m meeting) Post(ctx context.Context, q journal.Request) (uint64, error) {
	m.posts.Done()
	m.posts.Wait()
	return m.Backend.Post(ctx, q)
}

// TestCall_TwoWorkers checks that of two workers that have the same call, for example after one of
// them was stopped for a while, at most one makes it, whenever each of them was stopped (P12).
func TestCall_TwoWorkers(t *testing.T) {
	t.Parallel()
	c, err := client.NewLazyClient(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for range 20 {
		store := journal.NewMemory()
		flow := journal.NewBlob([]byte("{}"))
		a := journal.Append{
			Run: "r", Create: &journal.NewRun{Kind: journal.KindTemporal, Definition: flow.Hash}, Common: true,
			Status: journal.StatusRunning,
			Record: journal.Record{First: 1, Last: 1, Data: []byte("{}")}, Blobs: []journal.Blob{flow},
		}
		if err := store.Open(journal.KindServe).Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		var posts, workers sync.WaitGroup
		posts.Add(2)
		var made atomic.Int32
		for range 2 {
			d, err := temporaldriver.New(temporaldriver.Config{Config: embedded.Config{Expressions: celexpr.Compiler{},
				Store: meeting{store.Open(journal.KindServe), &posts}}, Client: c, Namespace: "n"})
			if err != nil {
				t.Fatal(err)
			}
			workers.Go(func() {
				may, err := d.Begins(t.Context(), "r", "1.0.1")
				if err != nil {
					t.Error(err)
				}
				if may {
					made.Add(1)
				}
				if err := d.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
		if n := made.Load(); n > 1 {
			t.Errorf("the call was made %d times", n)
		}
	}
}
