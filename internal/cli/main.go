package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// Exit statuses of all verbs.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the run failed
	ExitUse         = 2   // the document, flags or answer were not acceptable; nothing ran
	ExitPaused      = 3   // the run waits for a person
	ExitCancelled   = 4   // the run was cancelled, by whatever process
	ExitDefect      = 70  // a defect of Hocket
	ExitInterrupted = 130 // the run is stored and can be resumed
)

// Streams is the world around the command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTerminal and ErrTerminal tell whether a person sits there.
	InTerminal, ErrTerminal, OutTerminal bool
	// Width gives the columns of the terminal at Err; nil or 0: 80.
	Width func() int
	Env   func(string) string
}

// Wiring is what main puts in.
type Wiring struct {
	Version  string
	Adapters map[model.Protocol]model.Factory
}

// exit is an error that knows its status. An empty message prints nothing.
type exit struct {
	status  int
	message string
}

func (e *exit) Error() string { return e.message }

func usef(format string, args ...any) error {
	return &exit{ExitUse, fmt.Sprintf(format, args...)}
}

// app is one invocation.
type app struct {
	Streams
	wiring Wiring

	db        string
	quiet     bool
	verbose   bool
	logFormat string
	noColor   bool
	color     palette
}

// Main runs one command line and gives its exit status. No panic leaves it.
func Main(ctx context.Context, args []string, st Streams, w Wiring) (status int) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(st.Err, "hocket: defect: %v\nPlease report it with the command that you typed. HOCKET_DEBUG=1 shows where it happened.\n", v)
			if st.Env("HOCKET_DEBUG") != "" {
				fmt.Fprintf(st.Err, "%s\n", debug.Stack())
			}
			status = ExitDefect
		}
	}()
	a := &app{Streams: st, wiring: w}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(st.In)
	root.SetOut(st.Out)
	root.SetErr(st.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	return a.report(ctx, err)
}

// report prints an error for people and gives the exit status.
func (a *app) report(ctx context.Context, err error) int {
	var (
		ex   *exit
		inv  *service.InvalidError
		list diag.List
	)
	switch {
	case errors.As(err, &ex):
		if ex.message != "" {
			fmt.Fprintf(a.Err, "hocket: %s\n", ex.message)
		}
		return ex.status
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &inv) && len(inv.Diagnostics) > 0:
		a.diagnostics(inv.Diagnostics, diag.Warning)
		return ExitUse
	case errors.As(err, &list):
		a.diagnostics(list, diag.Warning)
		return ExitUse
	}
	fmt.Fprintf(a.Err, "hocket: %s\n", err)
	if service.IsUse(err) || isFlagError(err) {
		return ExitUse
	}
	return ExitFailed
}

// isFlagError tells cobra's own complaints about verbs, flags and arguments.
func isFlagError(err error) bool {
	s := err.Error()
	for _, p := range []string{"unknown command", "unknown flag", "unknown shorthand", "invalid argument", "flag needs an argument", "accepts ", "requires ", "if any flags in the group", "bad flag", "required flag", "no such flag"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "hocket",
		Short:         "Run agent workflows, durably",
		Long:          "Hocket runs workflows of agents, tools, conditions, loops, parallel branches and human decisions.\nEvery result is journaled before anything that depends on it, so a run survives its process.",
		Version:       a.wiring.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.logFormat != "text" && a.logFormat != "json" {
				return usef("--log-format %q: it is text or json", a.logFormat)
			}
			a.color = newPalette(a.ErrTerminal && !a.noColor && a.Env("NO_COLOR") == "")
			return nil
		},
	}
	root.SetVersionTemplate("hocket {{.Version}}\n")
	f := root.PersistentFlags()
	f.StringVar(&a.db, "db", "", "the store; :memory: keeps nothing (default $HOCKET_DB, $HOCKET_HOME/hocket.db or ~/.local/share/hocket/hocket.db)")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "say nothing but results and errors")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log what happens inside")
	f.StringVar(&a.logFormat, "log-format", "text", "text or json")
	f.BoolVar(&a.noColor, "no-color", false, "no colour, also where NO_COLOR is set")
	root.AddCommand(a.runCmd(), a.execCmd(), a.validateCmd(), a.showCmd(), a.convertCmd(), a.resumeCmd(), a.cancelCmd(), a.runsCmd(), a.doctorCmd())
	root.InitDefaultCompletionCmd()
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
	return root
}

// logger gives the logger of this invocation: silent unless -v.
func (a *app) logger() *slog.Logger {
	if !a.verbose {
		return slog.New(slog.DiscardHandler)
	}
	opts := &slog.HandlerOptions{Level: slog.LevelDebug}
	if a.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.Err, opts))
	}
	return slog.New(slog.NewTextHandler(a.Err, opts))
}

// config gives the service's configuration of this invocation.
func (a *app) config() service.Config {
	return service.Config{DB: a.db, Env: a.Env, Adapters: a.wiring.Adapters, Version: a.wiring.Version, Logger: a.logger()}
}

// open opens the service for verbs that only look.
func (a *app) open(ctx context.Context) (*service.Service, error) {
	return service.Open(ctx, a.config())
}

// diagnostics prints problems as FILE:LINE:COL: severity: message (code), those of least severity and worse.
func (a *app) diagnostics(list diag.List, least diag.Severity) {
	list.Sort()
	for _, d := range list {
		if d.Severity == diag.Info && least != diag.Info || d.Severity == diag.Warning && least == diag.Error {
			continue
		}
		fmt.Fprintln(a.Err, a.color.diagnostic(d))
	}
}

// System gives the streams of the process.
func System() Streams {
	return Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv,
		InTerminal: isTerminal(os.Stdin), ErrTerminal: isTerminal(os.Stderr), OutTerminal: isTerminal(os.Stdout),
		Width: terminalWidth,
	}
}
