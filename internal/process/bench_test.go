//go:build unix

package process_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/process"
)

// BenchmarkRun measures the cost of a supervisor compared with a process group.
func BenchmarkRun(b *testing.B) {
	for name, run := range map[string]func() (process.Outcome, error){
		"supervised": func() (process.Outcome, error) {
			return process.Run(b.Context(), process.Program{Argv: []string{"/bin/true"}})
		},
		"group": func() (process.Outcome, error) {
			return process.RunGroup(b.Context(), process.Program{Argv: []string{"/bin/true"}})
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
