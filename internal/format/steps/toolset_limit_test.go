package steps_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/format/steps"
)

// TestRead_ToolsetBytes checks that a toolset that many agents share is counted where it is used, so
// that a small document cannot become a large graph.
func TestRead_ToolsetBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, form := range map[string][2]string{
		"ref": {"mcps: {big: {command: c, args: [%s]}}\n", "toolsets: [{type: mcp, ref: big}]"},
		"use_toolsets": {"version: 15\ntoolsets: {big: {type: mcp, command: c, args: [%s]}}\n",
			"use_toolsets: [big]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for agents, want := range map[int]int{7: 0, 20: 1} {
				var doc strings.Builder
				fmt.Fprintf(&doc, form[0]+"agents:\n", long)
				for i := range agents {
					fmt.Fprintf(&doc, "  a%d: {instruction: x, %s}\n", i, form[1])
				}
				_, diags := read(t, doc.String(), steps.Options{})
				got := 0
				for _, d := range diags {
					if d.Code == source.CodeTooLarge && strings.Contains(d.Message, "each counted where it is used") {
						got++
					}
				}
				if got != want {
					t.Errorf("%d agents: %d problems of size, want %d", agents, got, want)
				}
			}
		})
	}
}
