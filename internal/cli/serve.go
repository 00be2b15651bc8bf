package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/server"
)

func (a *app) serveCmd() *cobra.Command {
	var (
		cfg     server.Config
		drives  driveFlags
		tz      string
		catchUp string
	)
	c := &cobra.Command{
		Use: "serve", Short: "serve the HTTP API, and run schedules, until stopped",
		Long: "Serves the HTTP API at --addr until it is stopped by Ctrl-C or SIGTERM. It drives the\nruns that are " +
			"started there, continues the runs that a previous server left, and runs\nschedules as " +
			"`hocket scheduler` does. On shutdown, it waits for requests in progress and\nstores runs; the next " +
			"server continues them. A second Ctrl-C ends it at once.\n\n" +
			"Every request needs a token: HOCKET_TOKEN, or a stored one. If there is none, the\nfirst start on a " +
			"loopback address creates one and writes it to the file `token`\n" +
			"beside the store; any other address is refused.",
		Example: "  hocket serve\n  HOCKET_TOKEN=$(cat token) hocket serve --addr 0.0.0.0:7788 --host " +
			"hocket.example.com --log-format json",
		Args: checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if cfg.Schedules.Zone, err = parseZone(c, tz); err != nil {
				return err
			}
			cfg.Schedules.CatchUp = scheduler.Policy(catchUp)
			if !slices.Contains(scheduler.Policies(), cfg.Schedules.CatchUp) {
				return mustBe("catch-up", orList(policyNames()), catchUp)
			}
			if err := drives.apply(a, c, &cfg, carry.Queues()); err != nil {
				return err
			}
			return a.serve(c, cfg)
		},
	}
	f := c.Flags()
	f.StringVar(&cfg.Addr, "addr", "", "`HOST:PORT` to listen on (default: from hocket.yaml, else "+server.DefaultAddr+
		")")
	f.StringVar(&cfg.URL, "url", "", "public `URL` of the server, if it is behind a proxy")
	f.StringSliceVar(&cfg.Hosts, "host", nil, "host `NAME` that requests may use, also *.NAME (repeatable)")
	f.StringSliceVar(&cfg.Origins, "origin", nil,
		"`ORIGIN` of web pages that may call the server, such as https://app.example.com (repeatable)")
	f.BoolVar(&cfg.NoSchedules, "no-schedules", false, "do not run schedules")
	f.BoolVar(&cfg.Service.NoDrive, "no-drive", false, "start, show, answer and cancel runs, but leave it to hocket "+
		"worker and other servers to drive them; --place is then that of the workers")
	drives.add(a, c, &cfg, "0s", "`MODEL` of every agent, overriding the documents")
	addZoneFlag(c, &tz, "time `ZONE` of calendars whose document names none (default: the machine's)")
	f.StringVar(&catchUp, "catch-up", string(scheduler.CatchUpLast),
		"`POLICY` for missed planned times: run the last one, none or all of them")
	must(c.RegisterFlagCompletionFunc("catch-up",
		cobra.FixedCompletions(policyNames(), cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func (a *app) serve(c *cobra.Command, cfg server.Config) error {
	ctx := c.Context()
	reporters := map[string]*reporter{}
	cfg.Report = func(namespace string, e scheduler.Event) {
		r := reporters[namespace]
		if r == nil {
			r = &reporter{
				app: a, log: cfg.Service.Logger.With("namespace", namespace),
				zone: cmp.Or(cfg.Schedules.Zone, time.Local), skipped: map[scheduler.Key]skips{},
				open: map[string]bool{},
			}
			reporters[namespace] = r
		}
		r.event(e)
	}
	s, err := server.Open(ctx, cfg)
	if err != nil {
		return err
	}
	ln, start, err := s.Listen(ctx)
	if err != nil {
		_ = s.Close() // nothing was served
		return err
	}
	if start.Token != "" && start.TokenFile == "" && !a.ErrTerminal {
		return errors.Join(usageErrorf("a store in memory cannot keep a token: set %s", server.EnvToken), ln.Close(),
			s.Close())
	}
	a.printStart(cfg, start)
	a.printLink(ctx, s, start)
	err = s.Serve(ctx, ln)
	if err = errors.Join(err, s.Close()); err != nil {
		return &exit{ExitFailed, err.Error()} // also if it was told to shut down
	}
	cfg.Service.Logger.Info("stopped")
	return nil
}

// printStart prints where the server is, and how to sign in.
func (a *app) printStart(cfg server.Config, st server.Start) {
	a.printFact("store", st.DB, "path", st.DB)
	switch {
	case st.TokenFile != "" && a.ErrTerminal:
		a.printFact("token", st.Token+" (created, and stored in "+st.TokenFile+")", "file", st.TokenFile)
	case st.TokenFile != "":
		a.printFact("token", "created, in "+st.TokenFile, "file", st.TokenFile)
	case st.Token != "":
		a.printFact("token", st.Token+" (created for this process only: the store is in memory)")
	case st.FromEnv:
		a.printFact("token", "from "+server.EnvToken+", and stored tokens")
	default:
		a.printFact("token", "stored tokens")
	}
	if st.Exposed && !st.TLS {
		a.printFact("warning",
			"other machines can reach this address, and requests and their tokens are not encrypted: "+
				"put a TLS proxy in front of it")
	}
	if cfg.Service.NoDrive {
		a.printFact("runs", "not driven by this process")
	}
	if cfg.NoSchedules {
		a.printFact("schedules", "not run by this process")
	}
	a.printFact("listening", st.URL, "url", st.URL)
}

// printLink prints the URL of the page: for a person with a link that signs their browser in, for
// logs without it.
func (a *app) printLink(ctx context.Context, s *server.Server, st server.Start) {
	at := s.Page(st)
	if at == "" {
		return
	}
	if a.ErrTerminal && a.logFormat != "json" {
		link, err := s.Link(ctx, st)
		if err == nil {
			a.printFact("page", link+" (signs a browser in, once, within 10 minutes)")
			return
		}
	}
	a.printFact("page", at+" (hocket open signs a browser in)", "url", at)
}

// printFact prints on standard error, for people, facts that hold as long as the server runs;
// --log-format json prints the same for machines. Events are logged instead.
func (a *app) printFact(kind, text string, args ...any) {
	switch {
	case a.quiet:
	case a.logFormat == "json":
		a.logger().Info(kind, args...)
	default:
		fmt.Fprintln(a.Err, clean(fmt.Sprintf("%-10s", kind)+"  "+text))
	}
}
