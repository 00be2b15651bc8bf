package docs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/hocket-run/hocket/internal/cli"
)

// shell runs the shell blocks of a page in the current folder. Only the programs in allowed are
// started; Hocket is called in this process unless binary is set.
type shell struct {
	t        *testing.T
	env      []string
	allowed  []string
	binary   bool
	program  string                     // started in place of hocket; "" means hocket
	flags    func(verb string) []string // added to each call of hocket; may be nil
	executed []statement                // all executed statements
	runner   *interp.Runner
	out      bytes.Buffer
}

// statement is a statement of a block, and its outcome.
type statement struct {
	text, out string
	status    int
}

func newShell(t *testing.T, allowed []string, binary bool, env ...string) *shell {
	t.Helper()
	home := t.TempDir()
	s := &shell{t: t, allowed: allowed, binary: binary, env: append([]string{
		"HOME=" + home, "HOCKET_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "NO_COLOR=1", "LANG=C.UTF-8",
	}, env...)}
	var err error
	s.runner, err = interp.New(interp.Env(expand.ListEnviron(s.env...)), interp.StdIO(nil, &s.out, &s.out),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	if !slices.Contains(s.allowed, args[0]) {
		return fmt.Errorf("the page runs %s, which is not in the test's list of programs", args[0])
	}
	env := func(name string) string { return hc.Env.Get(name).String() }
	if args[0] == "hocket" {
		if len(args) > 1 && slices.Contains([]string{"serve", "scheduler", "mcp"}, args[1]) {
			return fmt.Errorf("hocket %s does not end: the block needs a mark <!-- not run: reason -->", args[1])
		}
		if len(args) > 1 && s.flags != nil {
			args = append(slices.Clip(args), s.flags(args[1])...)
		}
		if s.program != "" {
			args = append([]string{s.program}, args[1:]...)
		}
	}
	return s.start(ctx, hc, env, args, hc.Stdout, hc.Stderr)
}

func (s *shell) start(ctx context.Context, hc interp.HandlerContext, env func(string) string, args []string, stdout,
	stderr io.Writer) error {
	if args[0] == "hocket" && !s.binary {
		s.t.Chdir(hc.Dir)
		in := io.Reader(strings.NewReader(""))
		if f, ok := hc.Stdin.(*os.File); ok && f != nil {
			in = f
		}
		if status := cli.Main(ctx, args[1:], cli.Streams{In: in, Out: stdout, Err: stderr, Env: env},
			cli.Wiring{Version: "dev"}); status != 0 {
			return interp.ExitStatus(status)
		}
		return nil
	}
	program, err := interp.LookPathDir(hc.Dir, hc.Env, args[0])
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, program, args[1:]...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = hc.Dir, hc.Stdin, stdout, stderr
	hc.Env.Each(func(name string, v expand.Variable) bool {
		if v.Exported && v.Kind == expand.String {
			c.Env = append(c.Env, name+"="+v.Str)
		}
		return true
	})
	var exit *exec.ExitError
	if err := c.Run(); errors.As(err, &exit) {
		return interp.ExitStatus(exit.ExitCode())
	} else if err != nil {
		return err
	}
	return nil
}

var printsThat = regexp.MustCompile(`^ prints: (.+)$`)

var endsWith = regexp.MustCompile(`(?:ends|exits) with (?:status )?(\d+)`)

// run runs a block and returns its output. Each command must end with status 0, or with the status
// in a comment next to it: "ends with 3".
func (s *shell) run(b block) string {
	s.t.Helper()
	file, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(b.text), b.page)
	if err != nil {
		s.t.Fatalf("%s:%d: %v", b.page, b.line, err)
	}
	s.out.Reset()
	for _, stmt := range file.Stmts {
		want, prints := 0, ""
		for _, c := range stmt.Comments {
			if m := endsWith.FindStringSubmatch(c.Text); m != nil {
				want, _ = strconv.Atoi(m[1])
			}
			if m := printsThat.FindStringSubmatch(c.Text); m != nil {
				prints = m[1]
			}
		}
		before := s.out.Len()
		got := 0
		if err := s.runner.Run(s.t.Context(), stmt); err != nil {
			var status interp.ExitStatus
			if !errors.As(err, &status) {
				s.t.Fatalf("%s:%d: %v", b.page, b.line+int(stmt.Pos().Line()), err)
			}
			got = int(status)
		}
		s.executed = append(s.executed, statement{text: statementText(s.t, stmt), out: s.out.String()[before:],
			status: got})
		if !strings.HasSuffix(strings.TrimSpace(s.out.String()[before:]), prints) {
			s.t.Errorf("%s:%d: printed %s, want %q at the end", b.page, b.line+int(stmt.Pos().Line()),
				s.out.String()[before:], prints)
		}
		if got != want {
			s.t.Errorf("%s:%d: status %d, want %d: %s", b.page, b.line+int(stmt.Pos().Line()), got, want,
				s.out.String()[before:])
		}
	}
	return s.out.String()
}

// statementText returns a statement without its comments.
func statementText(t *testing.T, stmt *syntax.Stmt) string {
	t.Helper()
	bare := *stmt
	bare.Comments = nil
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, &bare); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// commands returns the calls of Hocket in a shell script, as unquoted words.
func commands(text string) ([][]string, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, err
	}
	var out [][]string
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		var words []string
		for _, w := range call.Args {
			words = append(words, literal(w))
		}
		if words[0] == "hocket" {
			out = append(out, words[1:])
		} else if i := slices.Index(words, "./cmd/hocket"); i >= 0 && words[0] == "go" && words[1] == "run" {
			out = append(out, words[i+1:])
		}
		return true
	})
	return out, nil
}

// literal returns the text of a word; expansions become an X.
func literal(w *syntax.Word) string {
	var b strings.Builder
	var add func([]syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(p.Value)
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				add(p.Parts)
			default:
				b.WriteString("X")
			}
		}
	}
	add(w.Parts)
	return b.String()
}

func hocketMain(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	home := t.TempDir()
	env := func(name string) string {
		if name == "HOME" || name == "HOCKET_HOME" {
			return home
		}
		return ""
	}
	status = cli.Main(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs,
		Env: env}, cli.Wiring{})
	return status, out.String(), errs.String()
}
