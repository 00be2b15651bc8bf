package postgres_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
)

// BenchmarkClaimSome measures a claim of 16 waiting runs, and one that finds none, with n and 2n
// stored runs that have ended and 1,000 runs that another process executes. HOCKET_RUNS is n;
// default: 100,000. The goal is 5 ms at 1 million.
func BenchmarkClaimSome(b *testing.B) {
	n := 100_000
	if text := os.Getenv("HOCKET_RUNS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for _, stored := range []int{n, 2 * n} {
		url := pgtest.URL(b)
		front, other := open(b, url), open(b, url)
		for i := range 1000 {
			if err := other.Append(b.Context(), claimable(fmt.Sprint("driven ", i))); err != nil {
				b.Fatal(err)
			}
		}
		c := pgtest.Connect(b, url)
		for _, q := range []string{
			fmt.Sprintf(
				`WITH r AS (INSERT INTO runs (run, created, status, waiting, ended, workflow, name, format, parent, `+
					`kind, meta, session, place)
SELECT convert_to('ended ' || g, 'UTF8'), g, 'completed', 0, g, 'w', 'w', 'steps', '', 'serve', NULL, '', '' FROM `+
					`generate_series(1, %d) g RETURNING id)
INSERT INTO heads (id, epoch, owner, last, seal, updated) SELECT id, 1, 0, 1, '', 1 FROM r`, stored),
			`ANALYZE`,
		} {
			if _, err := c.Exec(b.Context(), q); err != nil {
				b.Fatal(err)
			}
		}
		q := journal.ClaimQuery{Kind: journal.KindServe, Place: "here", Limit: 16}
		claim := func(b *testing.B, h journal.Dispatch, want int) []journal.Head {
			b.Helper()
			heads, err := h.ClaimSome(b.Context(), q)
			if err != nil || len(heads) != want {
				b.Fatalf("%d runs, %v", len(heads), err)
			}
			return heads
		}
		b.Run(fmt.Sprintf("stored=%d/none", stored), func(b *testing.B) {
			for b.Loop() {
				claim(b, front, 0)
			}
		})
		b.Run(fmt.Sprintf("stored=%d/16", stored), func(b *testing.B) {
			for i := range 1000 {
				run := fmt.Sprint("waits ", i)
				if err := front.Append(b.Context(), claimable(run)); err == nil {
					err = front.Return(b.Context(), run, 1)
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			for b.Loop() {
				heads := claim(b, front, 16)
				b.StopTimer()
				for _, h := range heads {
					if err := front.Return(b.Context(), h.Run, h.Epoch); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
			}
		})
	}
}

func claimable(run string) journal.Append {
	return journal.Append{
		Run: run, Create: &journal.NewRun{Workflow: "w", Format: "steps", Kind: journal.KindServe, Created: time.Now()},
		Record: journal.Record{First: 1, Last: 1, Data: make([]byte, 400)}, At: time.Now(),
		Status: journal.StatusRunning,
	}
}
