package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, line, text string }{
		"plain":      {"a b", "a b", "a b"},
		"line ends":  {"a\r\nb\nc\rd\te", "a  b c d e", "a\nb\ncd\te"},
		"escapes":    {"\x1b[2J\x9b31m\u009b31m\x7f\a", "[2J�31m31m", "[2J�31m31m"},
		"directions": {"a\u202eb\u2066c\u200fd", "abcd", "abcd"},
		"separators": {"a\u2028b\u2029c", "a b c", "a\nb\nc"},
		"tags":       {"a\U000e0041b", "ab", "ab"},
		"wide":       {"蜜蜂 👩‍🚀 é", "蜜蜂 👩‍🚀 é", "蜜蜂 👩‍🚀 é"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := clean(c.in); got != c.line {
				t.Errorf("clean %q: %q, want %q", c.in, got, c.line)
			}
			if got := printable(c.in); got != c.text {
				t.Errorf("printable %q: %q, want %q", c.in, got, c.text)
			}
		})
	}
}

// TestCut checks that a truncated text never exceeds its width, and is a prefix or suffix of the
// original.
func TestCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := clean(rapid.StringOfN(rapid.RuneFrom([]rune("ab 蜜蜂é👩‍…")), 0, 30, -1).Draw(t, "text"))
		n := rapid.IntRange(0, 40).Draw(t, "columns")
		for name, got := range map[string]string{"short": short(s, n), "ending": lastColumns(s, n)} {
			if columns(got) > n {
				t.Errorf("%s of %q to %d: %q has %d columns", name, s, n, got, columns(got))
			}
			if columns(s) <= n && n > 0 && got != s {
				t.Errorf("%s of %q to %d: %q", name, s, n, got)
			}
		}
		if got := short(s, n); !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			t.Errorf("short of %q: %q", s, got)
		}
		if got := lastColumns(s, n); !strings.HasSuffix(s, strings.TrimPrefix(got, "…")) {
			t.Errorf("ending of %q: %q", s, got)
		}
	})
}

// TestEscapedLine checks SEC5: a person who is asked whether a document may use the machine sees
// the whole text, and no terminal interprets any of it as a command.
func TestEscapedLine(t *testing.T) {
	t.Parallel()
	got := escapedLine("run a\x1b[2K\rls\nmore\tx\u202ey (toolset é)")
	if want := `run a\u001b[2K\u000dls\nmore\tx\u202ey (toolset é)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain-1.db": "plain-1.db", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "a\nb": `$'a\nb'`,
		"\x1b'\"\\": `$'\x1b\'"\\'`, "\xff": `$'\xff'`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote %q: %s, want %s", in, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		-time.Second: "0ms", 812 * time.Millisecond: "812ms", 1500 * time.Millisecond: "1.5s",
		61 * time.Second: "1m01s", 26*time.Hour + 5*time.Minute: "26h05m",
	} {
		if got := duration(in); got != want {
			t.Errorf("duration %d: %s, want %s", in, got, want)
		}
	}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for in, want := range map[time.Duration]string{
		-time.Minute: "0s ago", 59 * time.Second: "59s ago", time.Hour: "1h ago", 47 * time.Hour: "47h ago",
		72 * time.Hour: "3d ago", 5 * time.Minute: "5m ago",
	} {
		if got := ago(now.Add(-in), now); got != want {
			t.Errorf("ago %s: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]time.Duration{"0": 0, "90m": 90 * time.Minute, "30d": 720 * time.Hour,
		"1.5d": 36 * time.Hour} {
		if got, err := parseAge("ended", in); err != nil || got != want {
			t.Errorf("age %s: %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "d", "-1d", "-5m", "soon", "NaNd", "1e9d"} {
		var ex *exit
		if got, err := parseAge("ended", in); !errors.As(err, &ex) || ex.status != ExitUse {
			t.Errorf("age %q: %s, %v", in, got, err)
		}
	}
}

func TestTextOrJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"blue": `"blue"`, `{"decision":"reject"}`: `{"decision":"reject"}`, "\n[1]": "[1]", `"quoted"`: `"quoted"`,
		"{broken": `"{broken"`, "true": `"true"`, "": `""`, "12": `"12"`,
	} {
		if got := textOrJSON(in); string(got) != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestWrap checks that on a terminal lines fit next to what precedes them, and no word is lost,
// and that elsewhere, or if there is hardly any room, nothing is wrapped.
func TestWrap(t *testing.T) {
	t.Parallel()
	text := "toolset in a document or in --tools; private addresses and variables need --trust, or --tools that " +
		"names them"
	for name, c := range map[string]struct {
		terminal bool
		width    int
		want     []string
	}{
		"a pipe": {false, 80, []string{text}},
		"a terminal": {true, 80, []string{"toolset in a document or in --tools; private addresses and variables",
			"need --trust, or --tools that names them"}},
		"a wide one":     {true, 200, []string{text}},
		"a narrow one":   {true, 40, []string{text}},
		"an unknown one": {true, 0, []string{text}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &app{Streams: Streams{OutTerminal: c.terminal, Width: func() int { return c.width }}}
			if got := a.wrapped(text, 12); !slices.Equal(got, c.want) {
				t.Errorf("wrapped at %d: %q, want %q", c.width, got, c.want)
			}
		})
	}
}
