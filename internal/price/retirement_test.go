package price

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

func TestRetires(t *testing.T) {
	t.Parallel()
	r, ok := Retires("OpenAI/gpt-5-mini")
	day := time.Date(2026, 12, 11, 0, 0, 0, 0, time.UTC)
	if !ok || !r.On.Equal(day) {
		t.Fatalf("%+v, %v", r, ok)
	}
	if got := r.Text("openai/gpt-5-mini", day.Add(-time.Second)); got != "the provider retires the model "+
		"openai/gpt-5-mini on 2026-12-11; it suggests openai/gpt-6.1-terra" {
		t.Error(got)
	}
	if got := r.Text("openai/gpt-5-mini", day); !strings.HasPrefix(got, "the provider retired the model") {
		t.Error(got)
	}
	for _, ref := range []string{"openai/gpt-5-mini-2025-08-07", "anthropic/claude-opus-4-1-20250805",
		"openai/gpt-4o-mini-2024-07-18"} {
		if _, ok := Retires(ref); !ok {
			t.Errorf("%s is not retired", ref)
		}
	}
	for _, ref := range []string{"openai/gpt-6.1-terra", "openai/gpt-5.6-sol", "ollama/gpt-5", "gpt-5",
		"openai/gpt-5-turbo", ""} {
		if _, ok := Retires(ref); ok {
			t.Errorf("%s is retired", ref)
		}
	}
	for _, e := range Default().entries {
		if e.retirement == nil || e.retirement.Replacement == "" {
			continue
		}
		if _, ok := Retires(e.retirement.Replacement); ok {
			t.Errorf("the replacement %s is retired, too", e.retirement.Replacement)
		}
		if _, ok := Default().Rate(e.retirement.Replacement); !ok {
			t.Errorf("the replacement %s is no row", e.retirement.Replacement)
		}
	}
}

// TestWindow checks that a row's window applies to its names and to names that continue them after
// a dash; the longest match takes precedence.
func TestWindow(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]int{
		"openai/gpt-5": 400_000, "openai/gpt-5-mini": 400_000, "OpenAI/GPT-5": 400_000,
		"openai/gpt-5-2025-08-07": 400_000, "openai/gpt-5-turbo": 400_000,
		"openai/gpt-5-chat-latest": 128_000, "openai/gpt-4o-audio-preview": 128_000, "openai/gpt-4.1-mini": 1_047_576,
		"openai/gpt-6.1-terra": 1_050_000, "openai/gpt-6.1-terra-fast": 1_050_000, "openai/gpt-6-nova": 1_050_000,
		"anthropic/claude-sonnet-4-5-20250929": 200_000, "anthropic/claude-sonnet-4-20250514": 200_000,
		"anthropic/claude-sonnet-5-5-20260928": 1_000_000,
		"anthropic/claude-3-5-haiku-latest":    200_000, "google/gemini-2.5-flash-lite": 1_048_576,
		"openai/gpt-4-1106-preview": 0, "openai/gpt-50": 0, "openai/gpt": 0, "ollama/qwen3:8b": 0, "gpt-5": 0, "": 0,
		"-": 0,
	} {
		if got := Window(ref); got != want {
			t.Errorf("the window of %s is %d, want %d", ref, got, want)
		}
	}
}

// TestAbsentCachedPrice checks that a missing price defaults to the input price: a cached token
// costs the same as any other.
func TestAbsentCachedPrice(t *testing.T) {
	t.Parallel()
	table, problems := Parse("p", []byte("prices: [{models: [a/b], input: 2, output: 4}]"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := table.Cost("a/b", chat.Usage{InputTokens: 1_000_000, CachedTokens: 400_000,
		CacheWriteTokens: 100_000}); got == nil || *got != 2 {
		t.Errorf("got %v, want 2", got)
	}
}

// TestFacts checks that the embedded table is read without problems, and that only it may have
// facts other than prices: a user's file has none.
func TestFacts(t *testing.T) {
	t.Parallel()
	if _, problems := parse("models.yaml", embedded, true); len(problems) > 0 {
		t.Fatal(problems)
	}
	for name, tc := range map[string]struct{ row, want string }{
		"no day":         {"{models: [a/b], retires: soon}", "retires is a day, as YYYY-MM-DD"},
		"instead alone":  {"{models: [a/b], instead: a/c}", "instead needs retires"},
		"no window":      {"{models: [a/b], window: 0}", "window is a number of tokens from 1 to 100000000"},
		"large window":   {"{models: [a/b], window: 1000000000000}", "window is a number"},
		"half a price":   {"{models: [a/b], input: 1}", "output"},
		"unknown":        {"{models: [a/b], windows: 1}", "windows"},
		"without models": {"{window: 1}", "models"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := []byte("prices: [" + tc.row + "]")
			if _, problems := parse("f", text, true); !problems.HasErrors() ||
				!strings.Contains(problems.Error(), tc.want) {
				t.Errorf("got %v, want %q", problems, tc.want)
			}
		})
	}
	if _, problems := Parse("f",
		[]byte("prices: [{models: [a/b], input: 1, output: 1, window: 5}]")); !problems.HasErrors() {
		t.Error("a file of prices has a window")
	}
}

// TestExamplesLast checks that README, the pages of docs and the examples name no model with a
// known retirement, unless they say that it is retired.
func TestExamplesLast(t *testing.T) {
	t.Parallel()
	files := []string{"../../README.md"}
	for _, pattern := range []string{"../../examples/*/*.*", "../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, found, err)
		}
		files = append(files, found...)
	}
	named := regexp.MustCompile(`\b(openai|anthropic|google)/[a-z0-9.-]+[a-z0-9]`)
	seen := 0
	for _, file := range files {
		if strings.Contains(file, "/adr/") {
			continue // decision records are not edited
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			for _, ref := range named.FindAllString(line, -1) {
				seen++
				if r, ok := Retires(ref); ok && !strings.Contains(line, "retire") {
					t.Errorf("%s:%d: %s", file, i+1, r.Text(ref, time.Unix(0, 0)))
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no model is named")
	}
}
