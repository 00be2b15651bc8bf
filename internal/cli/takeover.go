package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// quietAfter is the age of a process's last heartbeat after which people are shown how to take its
// run over: by then three heartbeats are missing.
const quietAfter = 15 * time.Second

// addTakeOverFlag adds --take-over to a verb.
func addTakeOverFlag(c *cobra.Command, takeOver *bool) {
	c.Flags().BoolVar(takeOver, "take-over", false,
		"take the run over from a process that hangs; its calls in progress may be made again")
}

// reportDriver prints which other process drives the run, and since when it has sent no heartbeat.
// With --take-over it takes the run over.
func (a *app) reportDriver(ctx context.Context, s backend, run string, takeOver bool) error {
	here, ok := s.(*service.Service)
	if !ok {
		return nil // a server reports this itself
	}
	owner, drives, err := here.Driven(ctx, run)
	if err != nil || !drives {
		return a.notFound(ctx, s, err, run)
	}
	if takeOver {
		former, err := here.TakeOver(ctx, run)
		if err == nil && former.ID != "" && !a.quiet {
			a.say(fmt.Sprintf("run %s was taken over from %s", run, former))
		}
		return err
	}
	if !a.quiet {
		a.say(drivenText(run, owner, time.Now()))
	}
	return nil
}

// move assigns a run to another place, and reports whether that is the place of this machine. At
// any other place a server or worker continues the run.
func (a *app) move(ctx context.Context, s backend, run, place string) (isHere bool, err error) {
	here, ok := s.(*service.Service)
	switch {
	case !ok:
		return false, usageErrorf("--place moves runs of a store; leave out --server")
	case place == "":
		return false, mustBe("place", "a name", place)
	}
	if err := here.Move(ctx, run, place); err != nil {
		return false, a.notFound(ctx, s, err, run)
	}
	if isHere = place == here.Place(); isHere || a.quiet {
		return isHere, nil
	}
	all, err := here.Processes(ctx)
	text := "run %s was moved to place %[2]s, where a server or worker continues it"
	if err == nil && !slices.ContainsFunc(all, func(p service.ProcessReport) bool { return p.Place == place }) {
		text = "run %s was moved to place %[2]s: no living process has it; hocket worker --place %[2]s there " +
			"continues it"
	}
	a.say(fmt.Sprintf(text, run, place))
	return false, err
}

// Drivers of runs, as named by --driver.
const (
	driverEmbedded = "embedded"
	driverTemporal = "temporal"
)

// connectForDriver connects to Temporal for a run that is to continue with the given driver; ""
// means the driver that it has.
func (a *app) connectForDriver(c *cobra.Command, driver string) error {
	switch {
	case !c.Flags().Changed("driver"):
		return a.prepareTemporal(c.Context())
	case driver == driverTemporal && a.wiring.Temporal == nil:
		return errcode.New(errcode.TemporalUnsupported, nil, nil)
	case driver == driverTemporal:
		if err := a.prepareTemporal(c.Context()); err != nil || a.carrier != nil {
			return err
		}
		return usageErrorf("--driver %s needs a Temporal server; name it with --temporal", driverTemporal)
	case driver != driverEmbedded:
		return mustBe("driver", orList([]string{driverEmbedded, driverTemporal}), driver)
	case c.Flags().Changed("temporal"):
		return usageErrorf("--driver %s and --temporal cannot be given together", driverEmbedded)
	}
	return nil
}

// rejectTemporalRun returns an error for a run in a local store that Temporal executes if this
// program does not support Temporal, since the command would wait for other processes. A run that
// is moved to another driver, or that has ended and is not reopened, is accepted.
func (a *app) rejectTemporalRun(s backend, rec service.Recorded, driver string, reopens bool) error {
	_, here := s.(*service.Service)
	if !here || a.wiring.Temporal != nil || rec.Head.Kind != journal.KindTemporal || driver != "" ||
		rec.Head.Status.Ended() && !reopens {
		return nil
	}
	return errcode.New(errcode.TemporalRun, errcode.Fields{"run": rec.Head.Run}, nil)
}

// adopt moves a run to the driver of this process.
func adopt(ctx context.Context, s backend, run string) error {
	here, ok := s.(*service.Service)
	if !ok {
		return nil // --driver with --server was rejected before
	}
	err := here.Adopt(ctx, run)
	if owned, ok := errors.AsType[*journal.OwnedError](err); ok {
		return usageErrorf("run %s is driven by %s and was not moved; stop that process, or take the run over with "+
			"--take-over", owned.Run, owned.Owner)
	}
	return err
}

// resumeOrWait resumes the run. If another process must continue the run and none currently does,
// it waits; the reason is printed once.
func (f *follower) resumeOrWait(ctx context.Context) error {
	err := f.resumeRun(ctx)
	if err == nil {
		return nil
	}
	if code := service.Describe(err).Code; code != errcode.RunUndriven && code != errcode.RunPlaceGone {
		return err
	}
	if text := errcode.Text(err, errcode.Command); text != f.lastReason && !f.quiet {
		f.lastReason = text
		f.progress.say(printable(text) + "\n")
	}
	select {
	case <-time.After(undrivenPoll):
	case <-ctx.Done():
	}
	return nil
}

// undrivenPoll is the polling interval for a run that no process drives.
const undrivenPoll = time.Second

// say prints a line for people without disturbing the display.
func (a *app) say(line string) { _, _ = logWriter{a}.Write([]byte(printable(line) + "\n")) }

// drivenText describes who drives a run.
func drivenText(run string, o journal.Owner, now time.Time) string {
	text := fmt.Sprintf("run %s is driven by %s", run, o)
	silent := now.Sub(o.Seen)
	switch {
	case o.Seen.IsZero():
		return text + "; waiting for it"
	case silent < quietAfter:
		return text + fmt.Sprintf(", last seen %s ago; waiting for it", max(silent, 0).Round(time.Second))
	}
	return text + fmt.Sprintf(", which has not been seen for %s, since %s\nwaiting for it; --take-over takes the run "+
		"over, and nothing that the process does after that is stored",
		silent.Round(time.Second), o.Seen.UTC().Format(time.RFC3339))
}
