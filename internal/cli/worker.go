package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) workerCmd() *cobra.Command {
	var (
		cfg    = server.Config{OnlyWork: true}
		drives driveFlags
		queues []string
	)
	c := &cobra.Command{
		Use: "worker", Short: "continue the runs of servers on the same store, until stopped",
		Long: "Drives runs that `hocket serve` has stored, of all namespaces, until it is stopped by\nCtrl-C or " +
			"SIGTERM: those that wait for a process with room, and those whose process\n" +
			"ended. It takes no requests and runs no schedules. Several workers and servers may\nshare a store in " +
			"PostgreSQL, or a file on one machine.\n\n" +
			"On shutdown, it takes no more runs, and waits for calls in progress, for at most --drain.\nOther " +
			"processes continue its runs. A second Ctrl-C ends it at once.\n\n" +
			"With --listen it serves /healthz, /readyz and /metrics, and nothing else.",
		Example: "  hocket worker --db postgres://hocket@db.example.com/hocket\n  hocket worker --place gpu1 " +
			"--listen :7789 --log-format json",
		Args: checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			kinds, err := parseQueues(queues)
			if err != nil {
				return err
			}
			if err := drives.apply(a, c, &cfg, kinds); err != nil {
				return err
			}
			if c.Flags().Changed("queues") && a.carrier == nil {
				return usageErrorf("--queues is for workers of Temporal; name its server with --temporal")
			}
			return a.work(c, cfg)
		},
	}
	f := c.Flags()
	f.StringVar(&cfg.Addr, "listen", "", "`HOST:PORT` for /healthz, /readyz and /metrics (default: none)")
	drives.add(a, c, &cfg, "20s", "`MODEL` of every agent of runs that runs start, overriding the documents")
	f.StringSliceVar(&queues, "queues", carry.Queues(), "with --temporal: `KINDS` of calls that this worker takes")
	must(c.RegisterFlagCompletionFunc("queues",
		cobra.FixedCompletions(carry.Queues(), cobra.ShellCompDirectiveNoFileComp)))
	return c
}

// driveFlags are the flags of processes that drive the runs of servers.
type driveFlags struct {
	place  string
	driven int
	starts service.Starts
	files  fileFlags
}

func (d *driveFlags) add(a *app, c *cobra.Command, cfg *server.Config, drain, model string) {
	f := c.Flags()
	f.StringVar(&d.place, "place", "", "`NAME` of this machine for runs that need its files or programs (default: "+
		"from hocket.yaml, else the host name)")
	f.IntVar(&d.driven, "max-driven", 0,
		"maximum `NUMBER` of runs to drive at once, without paused ones (default: from hocket.yaml, else 10000)")
	f.DurationVar(&cfg.Drain, "drain", 0,
		"how long calls in progress may continue on shutdown (`DURATION`) (default: from hocket.yaml, else "+drain+")")
	f.StringVar(&d.starts.Model, "model", "", model)
	d.files.add(c)
	addAllowUnknown(c, &d.files.allowUnknown)
	a.addTemporalFlags(c)
}

// apply checks the flags and configures the service from them and all other flags. queues are the
// kinds of calls accepted from Temporal.
func (d *driveFlags) apply(a *app, c *cobra.Command, cfg *server.Config, queues []string) (err error) {
	if d.starts.Files, err = a.files(d.files); err != nil {
		return err
	}
	a.serves, a.longRunning = true, true
	if err := a.connectTemporal(queues); err != nil {
		return err
	}
	noDrive := cfg.Service.NoDrive
	cfg.Service = a.config()
	cfg.Service.NoDrive, cfg.Service.Starts, cfg.Service.Place, cfg.Service.MaxDriven = noDrive, d.starts, d.place,
		d.driven
	if f := c.Flags().Lookup("max-driven"); f.Changed && d.driven < 1 {
		return mustBe("max-driven", "1 or more", f.Value.String())
	}
	if f := c.Flags().Lookup("drain"); cfg.Drain < 0 {
		return mustBe("drain", "0s or more", f.Value.String())
	}
	if c.Flags().Changed("place") && d.place == "" {
		return mustBe("place", "a name", d.place)
	}
	return service.CheckPlace(d.place)
}

// work drives runs until the context of c is done.
func (a *app) work(c *cobra.Command, cfg server.Config) error {
	ctx := c.Context()
	s, err := server.Open(ctx, cfg)
	if err != nil {
		return err
	}
	ln, start, err := s.Listen(ctx)
	if err != nil {
		_ = s.Close() // nothing was served
		return err
	}
	a.printFact("store", start.DB, "path", start.DB)
	a.printFact("place", s.Place(), "place", s.Place())
	if start.URL != "" {
		a.printFact("listening", start.URL, "url", start.URL)
	}
	a.printFact("working", "continuing runs of servers on this store")
	err = s.Serve(ctx, ln)
	if err = errors.Join(err, s.Close()); err != nil {
		return &exit{ExitFailed, err.Error()} // also if it was told to shut down
	}
	cfg.Service.Logger.Info("stopped")
	return nil
}
