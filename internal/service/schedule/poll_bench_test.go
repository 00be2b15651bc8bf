package schedule_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// BenchmarkPoll measures what a scheduler reads each second: the published workflows, and the
// controls of their schedules, each of which has one.
func BenchmarkPoll(b *testing.B) {
	for _, n := range []int{1000, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := service.Open(b.Context(), service.Config{Documents: linked.Kit(), DB: filepath.Join(b.TempDir(),
				"hocket.db"), Kind: journal.KindScheduler, Env: func(string) string { return "" }})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var items []string
			for i := range workflow.MaxSchedules {
				items = append(items, fmt.Sprintf(`{"id": "s%d", "schedule": "0 9 * * *", "timeZone": "UTC"}`, i))
			}
			doc := `{"agents": [{"id": "a"}], "nodes": [{"id": "n", "type": "agent", "config": {"agentId": "a"}}], ` +
				`"edges": [], "schedules": [` + strings.Join(items, ", ") + `]}`
			for w := range n / workflow.MaxSchedules {
				id := fmt.Sprintf("w%d", w)
				_, problems, err := s.Apply(b.Context(), service.ApplyRequest{ID: id,
					Documents: []service.Document{{File: id + ".json", Data: []byte(doc)}}})
				if err != nil || problems.HasErrors() {
					b.Fatal(problems, err)
				}
				for i := range workflow.MaxSchedules {
					q := service.ControlRequest{Workflow: id, Schedule: fmt.Sprintf("s%d", i),
						Do: service.PauseSchedule, By: "ann"}
					if _, err := s.ControlSchedule(b.Context(), q); err != nil {
						b.Fatal(err)
					}
				}
			}
			look := s.Looks()
			for b.Loop() {
				if branches, controls, err := look(b.Context()); err != nil || branches != n || controls != n {
					b.Fatal(branches, controls, err)
				}
			}
		})
	}
}
