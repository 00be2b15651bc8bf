package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) serveCmd() *cobra.Command {
	var (
		cfg     server.Config
		starts  service.Starts
		files   fileFlags
		tz      string
		catchUp string
	)
	c := &cobra.Command{
		Use: "serve", Short: "serve the HTTP API, and run schedules, until stopped",
		Long: "Answers at --addr until it is stopped by Ctrl-C or SIGTERM. It drives the runs that\nare started there, takes up those that a former server left, and minds schedules as\n" +
			"`hocket scheduler` does. When it ends, requests under way are waited for, runs are\nstored and go on with the next server. A second Ctrl-C ends it at once.\n\n" +
			"Every request needs a token: HOCKET_TOKEN, or one that is stored. Where there is\nnone, the first start on a loopback address makes one and writes it into the file\n" +
			"`token` beside the store. An address that others can reach is refused without one.",
		Example: "  hocket serve\n  HOCKET_TOKEN=$(cat token) hocket serve --addr 0.0.0.0:7788 --host hocket.example.com --log-format json",
		Args:    takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if cfg.Schedules.Zone, err = zone(c, tz); err != nil {
				return err
			}
			cfg.Schedules.CatchUp = scheduler.Policy(catchUp)
			if !slices.Contains(scheduler.Policies(), cfg.Schedules.CatchUp) {
				return mustBe("catch-up", orList(policyNames()), catchUp)
			}
			if starts.Files, err = a.files(files); err != nil {
				return err
			}
			a.serves, a.stays = true, true
			cfg.Service = a.config()
			cfg.Service.Starts = starts
			return a.serve(c, cfg)
		},
	}
	f := c.Flags()
	f.StringVar(&cfg.Addr, "addr", "", "`HOST:PORT` to listen at (default: hocket.yaml's, else "+server.DefaultAddr+")")
	f.StringVar(&cfg.URL, "url", "", "`URL` under which others reach the server, behind a proxy")
	f.StringSliceVar(&cfg.Hosts, "host", nil, "`NAME` by which others may call the server, also *.NAME; may be given several times")
	f.StringSliceVar(&cfg.Origins, "origin", nil, "`ORIGIN` of web pages that may call the server, such as https://app.example.com; may be given several times")
	f.BoolVar(&cfg.NoSchedules, "no-schedules", false, "leave schedules to other processes")
	addZoneFlag(c, &tz, "time `ZONE` of calendars whose document names none (default: the machine's)")
	f.StringVar(&catchUp, "catch-up", string(scheduler.CatchUpLast), "`POLICY` for planned times that were missed: last, none or all are made up for")
	f.StringVar(&starts.Model, "model", "", "`MODEL` of every agent, whatever the documents say")
	files.add(c)
	addAllowUnknown(c, &files.allowUnknown)
	must(c.RegisterFlagCompletionFunc("catch-up", cobra.FixedCompletions(policyNames(), cobra.ShellCompDirectiveNoFileComp)))
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
				zone: cmp.Or(cfg.Schedules.Zone, time.Local), skipped: map[scheduler.Key]skips{}, open: map[string]bool{},
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
		return errors.Join(usef("a store that keeps nothing has no place for a token: set %s", server.EnvToken), ln.Close(), s.Close())
	}
	a.tellStart(cfg, start)
	err = s.Serve(ctx, ln)
	if err = errors.Join(err, s.Close()); err != nil {
		return &exit{ExitFailed, err.Error()} // also where it was told to end
	}
	cfg.Service.Logger.Info("stopped")
	return nil
}

// tellStart says where the server is, and how to get in.
func (a *app) tellStart(cfg server.Config, st server.Start) {
	a.tell("store", st.DB, "path", st.DB)
	switch {
	case st.TokenFile != "" && a.ErrTerminal:
		a.tell("token", st.Token+" (made now, and kept in "+st.TokenFile+")", "file", st.TokenFile)
	case st.TokenFile != "":
		a.tell("token", "made now, in "+st.TokenFile, "file", st.TokenFile)
	case st.Token != "":
		a.tell("token", st.Token+" (made now, for this process alone: the store keeps nothing)")
	case st.FromEnv:
		a.tell("token", "that of "+server.EnvToken+", and those that are stored")
	default:
		a.tell("token", "those that are stored")
	}
	if st.Exposed && !st.TLS {
		a.tell("warning", "others can reach this address, and requests with their tokens are not encrypted: put a proxy with TLS before it")
	}
	if cfg.NoSchedules {
		a.tell("schedules", "are left to other processes")
	}
	a.tell("listening", st.URL, "url", st.URL)
}

// tell prints on standard error, for people, what is true as long as the server runs; --log-format json has the same for machines. All that happens is
// logged.
func (a *app) tell(kind, text string, args ...any) {
	switch {
	case a.quiet:
	case a.logFormat == "json":
		a.logger().Info(kind, args...)
	default:
		fmt.Fprintln(a.Err, clean(fmt.Sprintf("%-10s", kind)+"  "+text))
	}
}
