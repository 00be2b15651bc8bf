package cli_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/service"
)

// desk is a person at a terminal.
type desk struct {
	cli.Streams
	dir    string
	env    map[string]string
	wiring cli.Wiring
	out    buffer
	err    buffer
}

// buffer may be written by several goroutines. onWrite is called with everything written so far.
type buffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	onWrite func(all string)
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.b.Write(p)
	if b.onWrite != nil {
		b.onWrite(b.b.String())
	}
	return n, err
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newDesk returns a desk at which answers are typed. files are written to its directory, which is
// $DIR in arguments.
func newDesk(t *testing.T, answers string, files map[string]string) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir(), env: map[string]string{},
		wiring: cli.Wiring{Version: "test", Adapters: providers.Adapters(nil)}}
	d.env["HOCKET_DB"] = filepath.Join(d.dir, "hocket.db")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.Streams = cli.Streams{
		In: strings.NewReader(answers), Out: &d.out, Err: &d.err, InTerminal: true, OutTerminal: true,
		ErrTerminal: true,
		Env:         func(name string) string { return d.env[name] },
	}
	return d
}

func (d *desk) main(ctx context.Context, args ...string) int {
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "$DIR", d.dir)
	}
	return cli.Main(ctx, args, d.Streams, d.wiring)
}

const (
	document = `
agents:
  writer: {model: openai/gpt-5-mini, instruction: Write.}
workflow:
  - {type: agent, name: writer}
`
	hostile = "shown \x1b]0;title\x07\x1b[2Jand\u202eturned\u009b31m 蜜蜂"
	post    = `{"nodes": [
  {"id": "s", "type": "start", "data": {"initialInput": "bees"}},
  {"id": "w", "type": "agent", "data": {"agentName": "作家 who has a rather long name\u001b[31m", "userPrompt": ` +
		`"{{PREVIOUS_OUTPUT}}"}},
  {"id": "b", "type": "agent", "data": {"agentName": "beside", "userPrompt": "{{PREVIOUS_OUTPUT}}"}},
  {"id": "ok", "type": "approval"},
  {"id": "p", "type": "agent", "data": {"agentName": "publisher", "userPrompt": "{{PREVIOUS_OUTPUT}}"}}],
 "connections": [
  {"source": "s", "target": "w"}, {"source": "s", "target": "b"}, {"source": "w", "target": "ok"},
  {"source": "ok", "target": "p", "sourceHandle": "approve"}, {"source": "ok", "target": "w", "sourceHandle": ` +
		`"reject"}]}`
	postReplies = `replies:
  - {agent: w, text: "shown \e]0;title\x07\e[2Jand\u202eturned\x9b31m 蜜蜂", times: always, delayMs: 120, usage: ` +
		`{inputTokens: 1000, outputTokens: 200}}
  - {agent: b, text: beside, delayMs: 60}
  - {agent: p, text: "shown \e]0;title\x07\e[2Jand\u202eturned\x9b31m 蜜蜂"}
`
)

// drawing matches the escape sequences of the live display itself: move up some lines, return to
// the first column, erase below; and colors.
var drawing = regexp.MustCompile(`\x1b\[\d+A\r\x1b\[J|\x1b\[[0-9]+m`)

// checkHarmless fails if text contains anything that could corrupt a terminal.
func checkHarmless(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e {
			t.Errorf("%s holds %U: %q", what, r, text)
			return
		}
	}
}

// TestAsk checks that at a terminal the user is asked for approvals, with the actual content to
// approve (SEC12) and without control characters from model output.
func TestAsk(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "perhaps\nreject: shorter\napprove\n",
		map[string]string{"post.json": post, "replies.yaml": postReplies})
	if got := d.main(t.Context(), "run", "$DIR/post.json", "--replies", "$DIR/replies.yaml", "--run-id",
		"r1"); got != cli.ExitOK {
		t.Fatalf("exit status %d:\n%s", got, &d.err)
	}
	text := drawing.ReplaceAllString(d.err.String(), "")
	checkHarmless(t, "standard error", text)
	checkHarmless(t, "standard output", d.out.String())
	for _, want := range []string{
		"approval at ok\nto approve:\n" +
			"shown \\u001b]0;title\\u0007\\u001b[2Jand\\u202eturned\\u009b31m 蜜蜂\n",
		`"perhaps" is neither approve nor reject`, "→ reject", "→ approve",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("standard error lacks %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "to approve:"); n != 2 {
		t.Errorf("what is to be approved is shown %d times, want once for each of 2 waits", n)
	}
	if got, want := d.out.String(), "shown ]0;title[2Jandturned31m 蜜蜂\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}

	// If the output is not a terminal, it is the model output byte for byte.
	d.OutTerminal, d.In = false, strings.NewReader("")
	d.out.b.Reset()
	if got := d.main(t.Context(), "run", "$DIR/post.json", "--replies", "$DIR/replies.yaml", "--approve-all",
		"--no-color"); got != cli.ExitOK {
		t.Fatalf("exit status %d:\n%s", got, &d.err)
	}
	if got, want := d.out.String(), hostile+"\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}

	// The output of every other verb that shows a run is harmless too.
	d.OutTerminal = true
	for _, args := range [][]string{
		{"runs"}, {"runs", "show", "r1"}, {"runs", "show", "r1", "--json"}, {"runs", "show", "r1", "--logs"},
		{"runs", "show", "r1", "--trail"},
		{"runs", "show", "r1", "--context"}, {"runs", "events", "r1"}, {"runs", "events", "r1", "--json"},
		{"runs", "show", "r1", "--logs", "--json"},
	} {
		d.out.b.Reset()
		if got := d.main(t.Context(), args...); got != cli.ExitOK {
			t.Errorf("%v: exit status %d", args, got)
		}
		checkHarmless(t, strings.Join(args, " "), drawing.ReplaceAllString(d.out.String(), ""))
	}
}

// TestAsk_EmptyAnswer checks that an empty answer or the end of input leaves the run paused.
func TestAsk_EmptyAnswer(t *testing.T) {
	t.Parallel()
	for name, typed := range map[string]string{"empty line": "\n", "end of input": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, typed, map[string]string{"post.json": post, "replies.yaml": postReplies})
			if got := d.main(t.Context(), "run", "$DIR/post.json", "--replies", "$DIR/replies.yaml", "--run-id",
				"r1"); got != cli.ExitPaused {
				t.Fatalf("exit status %d:\n%s", got, &d.err)
			}
			if !strings.Contains(d.err.String(), "hocket resume r1 --approve") {
				t.Errorf("standard error does not tell how to answer:\n%s", &d.err)
			}
		})
	}
}

// TestProgress_NarrowTerminal checks that no line drawn is longer than the terminal is wide, so
// that erasing matches what was drawn.
func TestProgress_NarrowTerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1, 2, 11, 20, 33, 80} {
		d := newDesk(t, "", map[string]string{"post.json": post, "replies.yaml": postReplies})
		d.Width = func() int { return width }
		if got := d.main(t.Context(), "run", "$DIR/post.json", "--replies", "$DIR/replies.yaml", "--approve-all",
			"--run-id", "r"); got != cli.ExitOK {
			t.Fatalf("exit status %d:\n%s", got, &d.err)
		}
		for line := range strings.Lines(drawing.ReplaceAllString(d.err.String(), "")) {
			line = strings.TrimRight(line, "\n")
			if runewidth.StringWidth(line) > max(width, 2) && !strings.HasPrefix(line, "run r") &&
				!strings.HasPrefix(line, "completed after") {
				t.Errorf("width %d: line %q", width, line)
			}
		}
	}
}

const commanding = `
agents:
  caller: {model: openai/gpt-5-mini, instruction: Shout., toolsets: [{type: mcp, name: voice, command: nothere, ` +
	`args: ["a b", "\e[2J"]}]}
workflow:
  - {type: agent, name: caller}
`

// TestTrust checks that a document that starts commands needs confirmation at a terminal (SEC5),
// which shows the actual commands.
func TestTrust(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typed string
		want  int
		run   bool
	}{
		"yes":    {"y\n", cli.ExitOK, true},
		"no":     {"n\n", cli.ExitUse, false},
		"enter":  {"\n", cli.ExitUse, false},
		"gone":   {"", cli.ExitUse, false},
		"unsure": {"maybe\n", cli.ExitUse, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, c.typed,
				map[string]string{"doc.yaml": commanding, "replies.yaml": "replies: [{text: hello}]"})
			// A toolset that cannot be started fails the call; here it suffices that the run
			// started.
			got := d.main(t.Context(), "run", "$DIR/doc.yaml", "hi", "--replies", "$DIR/replies.yaml", "--run-id", "r1")
			if !c.run && got != c.want || c.run && got == cli.ExitUse {
				t.Errorf("exit status %d:\n%s", got, &d.err)
			}
			if !strings.Contains(d.err.String(), `  nothere 'a b' $'\x1b[2J'`) {
				t.Errorf("the command is not shown:\n%s", &d.err)
			}
			d.out.b.Reset()
			d.main(t.Context(), "runs", "--json")
			if stored := strings.Contains(d.out.String(), `"r1"`); stored != c.run {
				t.Errorf("run stored: %v, want %v", stored, c.run)
			}
		})
	}
}

// TestInterruptedReading checks that Ctrl-C works while a person is asked and while standard input
// blocks.
func TestInterruptedReading(t *testing.T) {
	t.Parallel()
	files := map[string]string{"doc.yaml": commanding, "post.json": post, "replies.yaml": postReplies}
	for name, c := range map[string]struct {
		when, want string
		args       []string
		piped      bool
	}{
		"trust": {"[y/N]", "interrupted before the run started; nothing is stored",
			[]string{"run", "$DIR/doc.yaml", "hi"}, false},
		"approval": {"\n> ", "hocket resume r1 --approve", []string{"run", "$DIR/post.json"}, false},
		"input":    {"", "interrupted", []string{"run", "$DIR/post.json", "-"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			d := newDesk(t, "", files)
			in, _ := io.Pipe()
			d.In = in
			d.env["NO_COLOR"] = "1"
			if c.piped {
				d.In = readerFunc(func(p []byte) (int, error) { cancel(); return in.Read(p) })
			}
			d.err.onWrite = func(all string) {
				if c.when != "" && strings.Contains(all, c.when) {
					cancel()
				}
			}
			if got := d.main(ctx, append(c.args, "--replies", "$DIR/replies.yaml", "--run-id",
				"r1")...); got != cli.ExitInterrupted {
				t.Errorf("exit status %d, want %d", got, cli.ExitInterrupted)
			}
			if !strings.Contains(d.err.String(), c.want) {
				t.Errorf("standard error lacks %q:\n%s", c.want, &d.err)
			}
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestPanic_ExitStatus checks that a bug in Hocket exits with 70 and without a Go stack trace,
// whichever goroutine it occurs in.
func TestPanic_ExitStatus(t *testing.T) {
	t.Parallel()
	files := map[string]string{"doc.yaml": document, "replies.yaml": "replies: [{text: hello, delayMs: 60000}]"}
	for name, c := range map[string]struct {
		spoil func(*desk)
		args  []string
	}{
		"main": {func(d *desk) {
			d.env["OPENAI_API_KEY"] = "key"
			d.wiring.Adapters = map[model.Protocol]model.Factory{
				model.ProtocolOpenAI: func(model.Endpoint) (model.Client, error) { panic("boom \x1b[2J") },
			}
		}, []string{"run", "$DIR/doc.yaml", "hi"}},
		"beside": {func(d *desk) {
			d.Width = func() int { panic("boom") }
		}, []string{"run", "$DIR/doc.yaml", "hi", "--replies", "$DIR/replies.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, debug := range []string{"", "1"} {
				d := newDesk(t, "", files)
				d.env["HOCKET_DEBUG"] = debug
				c.spoil(d)
				if got := d.main(t.Context(), c.args...); got != cli.ExitDefect {
					t.Errorf("exit status %d, want %d", got, cli.ExitDefect)
				}
				text := d.err.String()
				if !strings.Contains(text, "hocket: internal error: boom") ||
					strings.Contains(text, "goroutine ") != (debug != "") {
					t.Errorf("HOCKET_DEBUG=%q: %s", debug, text)
				}
			}
		})
	}
}

// TestInputTooLarge checks that an input above the limit is rejected before anything runs (SEC17).
func TestInputTooLarge(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", map[string]string{"doc.yaml": document, "replies.yaml": "replies: [{text: hello}]"})
	d.In, d.InTerminal = strings.NewReader(strings.Repeat("x", service.MaxDocumentBytes+1)), false
	if got := d.main(t.Context(), "run", "$DIR/doc.yaml", "--replies", "$DIR/replies.yaml"); got != cli.ExitUse {
		t.Errorf("exit status %d, want %d", got, cli.ExitUse)
	}
	if !strings.Contains(d.err.String(), "larger than the limit") {
		t.Errorf("standard error: %s", &d.err)
	}
}

var update = flag.Bool("update", false, "rewrite golden files")
