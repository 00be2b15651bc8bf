package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/tool/fetch/page"
)

// Exit statuses of all verbs.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the run failed
	ExitUse         = 2   // invalid document, flags or answer; nothing ran
	ExitPaused      = 3   // the run waits for a person
	ExitCancelled   = 4   // the run was cancelled, by any process
	ExitDefect      = 70  // a bug in Hocket
	ExitInterrupted = 130 // the run is stored and can be resumed
)

// Streams is the environment of the command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTerminal, ErrTerminal and OutTerminal are set if the stream is a terminal.
	InTerminal, ErrTerminal, OutTerminal bool
	// Width returns the width in columns of the terminal at Err; nil or 0 means 80.
	Width func() int
	Env   func(string) string
}

// Wiring holds the dependencies that package main supplies.
type Wiring struct {
	// Version is the version of the program; "" means the version that the build recorded.
	Version  string
	Adapters map[model.Protocol]model.Factory
	// Postgres opens stores in PostgreSQL. If nil, such stores are rejected.
	Postgres store.Kind
	// Temporal connects to Temporal servers. If nil, such servers are rejected.
	Temporal carry.Connect
	// CompleteWithin is the timeout of shell completions; 0 means 2 s.
	CompleteWithin time.Duration
}

// app is one invocation.
type app struct {
	Streams
	wiring Wiring

	db string
	// keyFile and allowUnsafe are the flags for stores on database servers.
	keyFile     string
	allowUnsafe bool
	// temporal holds the flags that name a Temporal server, and carrier is the connection to it, or
	// nil if there is none.
	temporal config.Temporal
	carrier  carry.Carrier
	// namespace is the flag. entered is set once at is the store of that namespace; defaultAt is
	// then the store of the default one.
	namespace     string
	entered       bool
	at, defaultAt store.Locator
	// server is the flag, and later the URL of the selected server; "" means none.
	server string
	// configFile is the flag; operator is the configuration that was read, and operatorBad its
	// problems.
	configFile  string
	operator    *config.Config
	operatorBad diag.List
	keeper      *secret.Keeper
	quiet       bool
	verbose     bool
	logFormat   string
	noColor     bool
	// serves is set if requests from others are logged too, and longRunning if the process runs
	// until it receives a signal.
	serves, longRunning bool
	// color is for Err, outColor for Out.
	color, outColor palette
	// prices are the prices of --prices on top of the built-in ones; nil without the flag.
	prices *price.Table
	// shown is the current display on Err, or nil if there is none.
	shown progress
	// lines reads the answers of a person from In.
	lines *bufio.Reader

	// warnedTelemetry is set once unusable telemetry variables have been reported.
	warnedTelemetry bool

	// lockTimeout is the flag; lockedOut is set when the timeout has passed.
	lockTimeout time.Duration
	lockedOut   atomic.Pointer[journal.LockedError]

	// abort ends the invocation after a bug, or when the store was locked for too long.
	abort  context.CancelFunc
	defect atomic.Pointer[defect]
}

// Main runs one command line and returns its exit status. It recovers all panics.
func Main(ctx context.Context, args []string, st Streams, w Wiring) (status int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st.In = &contextReader{ctx: ctx, r: st.In}
	w.Version = cmp.Or(w.Version, buildVersion())
	a := &app{Streams: st, wiring: w, lines: bufio.NewReader(st.In), abort: cancel, keeper: &secret.Keeper{}}
	defer func() {
		if v := recover(); v != nil {
			a.recordPanic(v)
		}
		if d := a.defect.Load(); d != nil {
			a.printError(
				fmt.Sprintf("internal error: %v\nPlease report it with the command that you typed. Set "+
					"HOCKET_DEBUG=1 to print the stack.", d.value))
			if st.Env("HOCKET_DEBUG") != "" {
				fmt.Fprintf(st.Err, "%s\n", d.stack)
			}
			status = ExitDefect
		}
	}()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(st.In)
	root.SetErr(st.Err)
	defer func() {
		if a.carrier != nil {
			a.carrier.Close()
		}
	}()
	if err := root.ExecuteContext(ctx); err != nil {
		return a.report(ctx, err)
	}
	return ExitOK
}

// defect is a panic and its stack.
type defect struct {
	value any
	stack []byte
}

// recordPanic records a panic, the first of several, and ends the invocation; the runs that it
// drives are stored.
func (a *app) recordPanic(v any) {
	a.defect.CompareAndSwap(nil, &defect{v, debug.Stack()})
	a.abort()
}

// guard runs f through start on another goroutine, whose panic is handled like one of the main
// goroutine.
func (a *app) guard(start func(func()), f func()) {
	start(func() {
		defer func() {
			if v := recover(); v != nil {
				a.recordPanic(v)
			}
		}()
		f()
	})
}

// report prints an error for people and returns the exit status.
func (a *app) report(ctx context.Context, err error) int {
	var (
		ex         *exit
		invalid    *service.InvalidError
		list       diag.List
		commands   *service.CommandsError
		again      *service.AllowedElsewhereError
		quarantine *driver.QuarantineError
	)
	status := ExitFailed
	if locked := a.lockedOut.Load(); locked != nil {
		if errors.As(err, &ex) && ex.message != "" {
			a.printError(ex.message) // the outcome of the run
		}
		a.printError(locked.Error())
		return status
	}
	switch {
	case errors.As(err, &ex):
		if ex.message != "" {
			a.printError(ex.message)
		}
		return ex.status
	case ctx.Err() != nil:
		a.printError("interrupted")
		return ExitInterrupted
	case errors.As(err, &invalid) && len(invalid.Diagnostics) > 0:
		a.diagnostics(invalid.Diagnostics)
		return ExitUse
	case errors.As(err, &list):
		a.diagnostics(list)
		return ExitUse
	case errors.As(err, &commands):
		a.printError(a.permissionsText(commands) + "\nallow it with --trust")
		return ExitUse
	case errors.As(err, &again):
		a.printError(a.permissionsAgainText(again) + "\nallow it with --trust; nothing was started or changed")
		return ExitUse
	case service.CodeOf(err) != service.CodeInternal && service.CodeOf(err) != service.CodeUnavailable,
		isServerState(err):
		status = ExitUse
	case errors.As(err, &quarantine):
		status = ExitDefect
	}
	text := errcode.Text(err, errcode.Command)
	if step := a.nextStep(err); step != "" && !strings.HasSuffix(text, step) {
		text += "; " + step
	}
	a.printError(text)
	return status
}

// printError prints an error without characters that could corrupt a terminal.
func (a *app) printError(message string) {
	fmt.Fprintf(a.Err, "hocket: %s\n", printable(a.keeper.Redact(message)))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:                   "hocket",
		DisableFlagsInUseLine: true,
		Short:                 "Run agent workflows, durably",
		Long: "Hocket runs workflows of agents, tools, conditions, loops, parallel branches " +
			"and\nhuman decisions. Every result is written to a journal before anything that\ndepends on it, so a " +
			"run survives a crash.",
		Example: "  hocket init router --dir demo                      # an example project\n  hocket run " +
			"newsroom.yaml \"The library opens on Sundays\"\n  hocket run newsroom.yaml --replies replies.yaml    # " +
			"without a model\n" +
			"  hocket validate *.yaml\n  hocket runs --status paused\n  hocket resume RUN --approve",
		Version:       a.wiring.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          checkArgs(),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, args []string) error {
			if err := refusePasswords(append(slices.Clip(args), a.db)); err != nil {
				return err
			}
			if a.logFormat != "text" && a.logFormat != "json" {
				return mustBe("log-format", "text or json", a.logFormat)
			}
			wanted := !a.noColor && a.Env("NO_COLOR") == "" && a.Env("TERM") != "dumb"
			a.color, a.outColor = palette{wanted && a.ErrTerminal}, palette{wanted && a.OutTerminal}
			if a.lockTimeout <= 0 {
				return mustBe("lock-timeout", "above 0", a.lockTimeout.String())
			}
			if err := a.rejectLocalOnly(c); err != nil {
				return err
			}
			a.joinTrace(c)
			if err := a.readConfig(c); err != nil {
				return err
			}
			if err := a.checkServerFlags(c); err != nil {
				return err
			}
			return a.chooseStore(c)
		},
	}
	f := root.PersistentFlags()
	f.StringVar(&a.db, "db", "",
		"`PATH` of the store, or its postgres:// URL; :memory: stores nothing on disk (default: see hocket doctor)")
	f.StringVar(&a.keyFile, "key-file", "",
		"`FILE` with the key of a store on PostgreSQL, the same on all machines (default: HOCKET_KEY_FILE)")
	f.BoolVar(&a.allowUnsafe, "allow-unsafe-store", false,
		"accept a PostgreSQL server that can lose stored results in a crash")
	a.addNamespaceFlag(root)
	f.StringVar(&a.configFile, "config", "", "the operator's configuration `FILE` (default: see hocket doctor)")
	f.DurationVar(&a.lockTimeout, "lock-timeout", 30*time.Second,
		"how long to wait for a store that another process has locked (`DURATION`)")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print only results and errors")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "print debug logs")
	f.StringVar(&a.logFormat, "log-format", "text", "log `FORMAT`: text or json")
	f.BoolVar(&a.noColor, "no-color", false, "disable colours, like NO_COLOR in the environment")
	must(root.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"},
		cobra.ShellCompDirectiveNoFileComp)))
	root.SetFlagErrorFunc(flagError)
	root.SetOut(a.Out) // the completion command created below keeps it
	root.SetHelpCommand(a.helpCmd())
	arrange(root, []group{
		{"Run workflows:", []*cobra.Command{a.runCmd(), a.execCmd(), a.resumeCmd(), a.signalCmd(), a.retryCmd(),
			a.watchCmd(), a.cancelCmd(), a.runsCmd()}},
		{"Work with documents:", []*cobra.Command{a.initCmd(), a.validateCmd(), a.showCmd(), a.convertCmd(),
			a.schemaCmd(), a.explainCmd()}},
		{"Store workflows:", []*cobra.Command{a.workflowsCmd(), a.agentsCmd()}},
		{"Run on a schedule:", []*cobra.Command{a.scheduleCmd(), a.schedulerCmd()}},
		{"Run a server:", []*cobra.Command{a.serveCmd(), a.openCmd(), a.workerCmd(), a.mcpCmd(), a.tokensCmd(),
			a.auditCmd(), a.webhooksCmd(), a.notificationsCmd(), a.storeCmd()}},
	})
	root.AddCommand(a.doctorCmd(), a.versionCmd())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Short = "print the completion script for a shell: bash, zsh, fish or powershell"
			c.Args, c.RunE = checkArgs("SHELL"), func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Args = checkArgs()
			}
		}
	}
	describeAll(root)
	return root
}

// must panics if err is not nil; it is for calls that fail only because of a bug in the program
// itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// logger returns the logger of this invocation: warnings by default, nothing with -q, everything
// with -v. A failing command reports its error itself.
func (a *app) logger() *slog.Logger {
	if a.quiet {
		return slog.New(slog.DiscardHandler)
	}
	opts := &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: inUTC}
	switch {
	case a.verbose:
		opts.Level = slog.LevelDebug
	case a.serves:
		opts.Level = slog.LevelInfo
	}
	if a.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(logWriter{a}, opts))
	}
	return slog.New(slog.NewTextHandler(logWriter{a}, opts))
}

// inUTC logs times in UTC, so that they are comparable with other logs and with runs, and durations
// in seconds.
func inUTC(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	if a.Value.Kind() == slog.KindDuration { // JSON would use nanoseconds, text a unit that depends on the value
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}

// logWriter writes log lines without disturbing the display on Err.
type logWriter struct{ *app }

func (w logWriter) Write(p []byte) (int, error) {
	if w.shown != nil {
		w.shown.say(string(p))
		return len(p), nil
	}
	return w.Err.Write(p)
}

// config returns the service configuration of this invocation.
func (a *app) config() service.Config {
	log := a.logger()
	return service.Config{
		Documents: linked.Kit(),
		Operator:  a.operator, Keeper: a.keeper,
		DB: a.db, At: a.at, Stores: store.Servers{Postgres: a.wiring.Postgres, KeyFile: a.keyFile,
			AllowUnsafe: a.allowUnsafe}, Env: a.Env, Adapters: a.wiring.Adapters, Version: a.wiring.Version,
		Prices: a.prices, Pages: page.Reader{},
		Telemetry: a.telemetry(log), Logger: log, LockTimeout: a.lockTimeout, Locked: a.locked, Carrier: a.carrier,
	}
}

// locked reports that another process holds the store, and ends a verb that has waited long enough
// for it. A long-running verb keeps waiting: the runs that it drives continue when the store is
// free.
func (a *app) locked(w journal.LockWait) {
	switch {
	case w.Over && !a.longRunning:
		a.lockedOut.Store(&journal.LockedError{Holder: w.Holder, For: w.For})
		a.abort()
	case a.longRunning:
		a.logger().Warn("the store is locked; waiting", "by", w.Holder, "for", w.For.Round(time.Second/10))
	case !a.quiet:
		a.say(fmt.Sprintf("hocket: the store is locked: %s has held it for %s; waiting at most %s", w.Holder,
			w.For.Round(time.Second), w.Limit))
	}
}

// diagnostics prints problems as FILE:LINE:COL: severity: message (code); with -q it prints only
// errors.
func (a *app) diagnostics(list diag.List) {
	list = hinted(list)
	list.Sort()
	for _, d := range list {
		if d.Severity == diag.Error || d.Severity == diag.Warning && !a.quiet {
			fmt.Fprintln(a.Err, a.color.diagnostic(d))
		}
	}
}

// refuse prints problems, and returns an error if any of them prevents running.
func (a *app) refuse(list diag.List) error {
	a.diagnostics(list)
	if list.HasErrors() {
		return &exit{status: ExitUse}
	}
	return nil
}

// System returns the streams of the process.
func System() Streams {
	return Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv,
		InTerminal: isTerminal(os.Stdin), ErrTerminal: isTerminal(os.Stderr), OutTerminal: isTerminal(os.Stdout),
		Width: terminalWidth,
	}
}
