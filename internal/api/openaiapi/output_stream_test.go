package openaiapi

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/driver"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// TestLive_TrailingSpace checks that however the text is split into pieces, the sent text is the
// text without trailing whitespace, and without leading whitespace if the output is trimmed.
func TestLive_TrailingSpace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		trim := rapid.Bool().Draw(t, "trim")
		l := &outputStream{ends: map[string]*workflow.Agent{"n": {Trim: trim}}, open: map[int]string{1: "n"}}
		all, sent := "", ""
		for _, piece := range rapid.SliceOf(rapid.SampledFrom([]string{" ", "\n", "a", " b", "c ", " \t", ""})).Draw(t,
			"pieces") {
			sent += l.onDelta(driver.Delta{Node: "n", Step: 1, Call: "1", Attempt: 1, Offset: len(all), Text: piece})
			all += piece
			want := all
			if trim {
				want = strings.TrimLeft(want, blanks)
			}
			if want = strings.TrimRight(want, blanks); sent != want {
				t.Fatalf("sent %q of %q, want %q", sent, all, want)
			}
		}
		if rest, ok := l.rest(sent + " end"); !ok || rest != " end" {
			t.Errorf("the rest is %q, %t", rest, ok)
		}
	})
}
