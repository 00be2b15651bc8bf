package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) schedulerCmd() *cobra.Command {
	var (
		q       service.ScheduleRequest
		files   fileFlags
		tz      string
		catchUp string
	)
	c := &cobra.Command{
		Use: "scheduler", Short: "run the schedules of published workflows until stopped",
		Long: "Starts runs of published workflows by their schedules, drives them, and continues\nthe runs that a " +
			"previous scheduler left, until it is stopped by Ctrl-C or\n" +
			"SIGTERM. Runs in progress are then stored, and the next scheduler continues them.\n\n" +
			"Several schedulers may use one store: one is active, and the others wait until it\nstops. A planned " +
			"time never starts two runs. --catch-up decides which planned times\n" +
			"that were missed while no scheduler was running are run afterwards: the last one of\neach branch, none, " +
			"or all (at most 100), one after the other.",
		Example: "  hocket scheduler --tz Europe/Berlin\n  hocket scheduler --catch-up none --log-format json",
		Args:    checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if q.Zone, err = parseZone(c, tz); err != nil {
				return err
			}
			q.CatchUp = scheduler.Policy(catchUp)
			if !slices.Contains(scheduler.Policies(), q.CatchUp) {
				return mustBe("catch-up", orList(policyNames()), catchUp)
			}
			if q.Files, err = a.files(files); err != nil {
				return err
			}
			return a.schedule(c, q)
		},
	}
	f := c.Flags()
	addZoneFlag(c, &tz, "time `ZONE` of calendars whose document names none (default: the machine's)")
	f.StringVar(&catchUp, "catch-up", string(scheduler.CatchUpLast),
		"`POLICY` for missed planned times: run the last one, none or all of them")
	f.StringVar(&q.Model, "model", "", "`MODEL` of every agent, overriding the documents")
	f.BoolVar(&q.Trust, "trust", false, "allow documents to start the commands and use the addresses that they name")
	files.add(c)
	addAllowUnknown(c, &files.allowUnknown)
	must(c.RegisterFlagCompletionFunc("catch-up",
		cobra.FixedCompletions(policyNames(), cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func policyNames() []string {
	var names []string
	for _, p := range scheduler.Policies() {
		names = append(names, string(p))
	}
	return names
}

func (a *app) schedule(c *cobra.Command, q service.ScheduleRequest) error {
	ctx := c.Context()
	a.longRunning = true
	if err := a.connectTemporal(carry.Queues()); err != nil {
		return err
	}
	cfg := a.config()
	cfg.Kind = journal.KindScheduler
	s, err := service.Open(ctx, cfg)
	if err != nil {
		return err
	}
	r := &reporter{app: a, zone: cmp.Or(q.Zone, time.Local), skipped: map[scheduler.Key]skips{},
		open: map[string]bool{}}
	q.Report = r.event
	if err := s.Schedule(ctx, q); err != nil {
		_ = s.Close() // nothing was started
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	r.stopped()
	return nil
}

// reporter prints the actions of a scheduler, one per line.
type reporter struct {
	*app
	log     *slog.Logger // nil means lines for people, or JSON
	zone    *time.Location
	skipped map[scheduler.Key]skips
	open    map[string]bool // runs that started and have not ended
}

// skips counts the planned times that were skipped because of the same run.
type skips struct {
	run   string
	count int
}

// event prints one event. Of several planned times skipped because of the same run, it prints the
// first, and their number at the next start.
func (r *reporter) event(e scheduler.Event) {
	switch e.Kind {
	case scheduler.EventStarted:
		r.open[e.Run] = true
		if sk := r.skipped[e.Key]; sk.count > 1 {
			r.line(e, "skipped", fmt.Sprintf("%d planned times in all for run %s", sk.count, sk.run), "run", sk.run,
				"count", sk.count)
		}
		delete(r.skipped, e.Key)
	case scheduler.EventEnded:
		delete(r.open, e.Run)
	case scheduler.EventSkipped:
		sk := r.skipped[e.Key]
		if sk.count > 0 && sk.run == e.Run {
			sk.count++
			r.skipped[e.Key] = sk
			return
		}
		r.skipped[e.Key] = skips{e.Run, 1}
	default:
	}
	text, args := r.words(e)
	r.line(e, string(e.Kind), text, args...)
}

// words describes an event in words, and in fields for programs.
func (r *reporter) words(e scheduler.Event) (string, []any) {
	var (
		parts []string
		args  []any
	)
	add := func(text string, fields ...any) { parts, args = append(parts, text), append(args, fields...) }
	switch e.Kind {
	case scheduler.EventLeading:
		add("this process runs the schedules")
	case scheduler.EventWaiting:
		add(e.Detail+" runs the schedules; waiting for it to stop", "leader", e.Detail)
	case scheduler.EventRegistered:
		add("schedule "+e.Detail, "spec", e.Detail)
	case scheduler.EventStarted:
		add("run "+e.Run, "run", e.Run, "planned", e.Planned)
		if e.CatchUp > 0 {
			add("catches up for "+r.time(e.Planned), "catchUp", true)
		}
	case scheduler.EventEnded:
		add("run "+e.Run, "run", e.Run)
		add(fmt.Sprintf("%s after %s", e.Status, duration(e.Took)), "status", string(e.Status), "tookMs",
			e.Took.Milliseconds())
	case scheduler.EventSkipped:
		text := "a run is starting"
		if e.Run != "" {
			text = "run " + e.Run + " has not ended"
		}
		add(r.time(e.Planned)+": "+text, "run", e.Run, "planned", e.Planned)
	case scheduler.EventPaused, scheduler.EventResumed:
		add("by "+e.Detail, "by", e.Detail)
	case scheduler.EventHeld:
		add(r.time(e.Planned)+" starts nothing: "+e.Detail, "planned", e.Planned, "reason", e.Detail)
	case scheduler.EventMissed:
		add(r.missed(e), "count", e.Count, "planned", e.Planned, "catchUp", e.CatchUp)
	case scheduler.EventRefused, scheduler.EventBroken:
		add(reason(e.Err), "err", e.Err.Error())
	case scheduler.EventClock:
		add("the clock was set back by more than a day; schedules continue from the current time", "planned", e.Planned)
	default:
	}
	if !e.Next.IsZero() {
		add("next "+r.local(e.Next), "next", e.Next)
	}
	return strings.Join(parts, ", "), args
}

// reason returns an error on one line, without the word that the line starts with.
func reason(err error) string {
	return oneLine(strings.TrimPrefix(err.Error(), scheduler.ErrRefused.Error()+": "))
}

func oneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }

// missed describes how many planned times passed while no scheduler ran, and how they are handled.
func (r *reporter) missed(e scheduler.Event) string {
	made := "dropped"
	switch {
	case e.CatchUp == 1:
		made = "runs now"
	case e.CatchUp > 1:
		made = fmt.Sprintf("%d of them run now", e.CatchUp)
	}
	switch {
	case e.Count == 1:
		return r.time(e.Planned) + ", " + made
	case e.CatchUp == 1:
		made = "the last one runs now"
	}
	few := strconv.Itoa(e.Count)
	if e.Count >= scheduler.MaxCatchUp {
		few += " or more"
	}
	return few + " planned times, the last at " + r.time(e.Planned) + ", " + made
}

// local formats a time in the zone of its schedule, and names the zone if it is not the local one.
func (r *reporter) local(t time.Time) string {
	_, here := t.In(r.zone).Zone()
	if _, there := t.Zone(); there != here {
		return t.Format("2006-01-02 15:04:05 -07:00")
	}
	return r.time(t)
}

func (r *reporter) time(t time.Time) string { return t.In(r.zone).Format("2006-01-02 15:04:05") }

// line prints an event on standard error, in the format of --log-format.
func (r *reporter) line(e scheduler.Event, kind, text string, args ...any) {
	if r.quiet {
		return
	}
	if r.log != nil || r.logFormat == "json" {
		fields := args
		if e.Workflow != "" {
			fields = append([]any{"workflow", e.Workflow, "branch", e.Branch, "schedule", e.Schedule}, args...)
		}
		log := r.log
		if log == nil {
			log = slog.New(slog.NewJSONHandler(logWriter{r.app}, &slog.HandlerOptions{ReplaceAttr: inUTC}))
		}
		level := slog.LevelInfo
		if e.Kind.IsFailure() {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, kind, fields...)
		return
	}
	line := r.time(e.At) + "  " + fmt.Sprintf("%-10s", kind)
	if e.Workflow != "" {
		line += "  " + e.String() + ": "
	} else {
		line += "  "
	}
	fmt.Fprintln(r.Err, clean(line+text))
}

// stopped prints the runs that have not ended.
func (r *reporter) stopped() {
	text := "no run is in progress"
	if n := len(r.open); n > 0 {
		text = pluralize(n, "run") + " in progress, stored for the next scheduler"
	}
	r.line(scheduler.Event{At: time.Now()}, "stopped", text, "open", len(r.open))
}
