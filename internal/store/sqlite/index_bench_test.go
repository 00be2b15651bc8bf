package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
)

func quoted(s string) []byte { return []byte(`"` + s + `"`) }

// benchTexts returns an input and an output of 300 words, some of which other runs have too.
func benchTexts(i int) *journal.Texts {
	var in, out strings.Builder
	for w := range 150 {
		fmt.Fprintf(&in, "invoice%d customer ", (i*7+w*w)%5000)
		fmt.Fprintf(&out, "answer%d total ", (i*3+w*w)%5000)
	}
	return &journal.Texts{Input: quoted(in.String()), Output: quoted(out.String())}
}

// BenchmarkRuns measures runs of two appends, 50 at a time, without and with searchable data: two
// labels, and the words of texts. ADR 98 allows an overhead of a tenth.
func BenchmarkRuns(b *testing.B) {
	for _, with := range []string{"nothing", "labels", "words", "labels and words"} {
		b.Run("with="+strings.ReplaceAll(with, " ", "_"), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "hocket.db"))
			texts := make([]*journal.Texts, b.N)
			for i := range texts {
				texts[i] = benchTexts(i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for part := range 50 {
				wg.Go(func() {
					for i := part; i < b.N; i += 50 {
						first := benchCreate(i)
						if strings.Contains(with, "labels") {
							first.Create.Labels = map[string]string{"team": fmt.Sprint("team", i%20),
								"ticket": fmt.Sprint(i)}
						}
						last := benchNext(i, 4, make([]byte, benchRecord))
						last.Status, last.Release, last.Index = journal.StatusCompleted, true, &journal.Index{}
						if strings.Contains(with, "words") {
							last.Index.Texts = texts[i]
						}
						for _, a := range []journal.Append{first, last} {
							if err := s.Append(context.Background(), a); err != nil {
								b.Error(err)
								return
							}
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}
