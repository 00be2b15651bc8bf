package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// follower shows one run in progress, driven by any process, asks its questions on a terminal, and
// ends with its result.
type follower struct {
	*app
	service       backend
	run           string
	json, context bool
	full          bool        // with json: all values complete
	transcript    *transcript // nil means that standard output has the result alone
	// abandoned is set if the run's process abandoned it some time ago, so that interrupted
	// activities start again.
	abandoned bool
	// readOnly is set if no person is asked, and if leaving does not affect the run.
	readOnly bool
	// resumeRun resumes the run after its owner died; it is nil if this process started the run.
	resumeRun    func(ctx context.Context) error
	log          *slog.Logger // logs each event with -v
	progress     progress
	stopWatching context.CancelFunc // stops watching
	watching     sync.WaitGroup
	lastReason   string // last reported reason why no process drives the run

	mu     sync.Mutex
	seq    uint64        // the last event shown
	events *eventPrinter // nil means that events are not printed
	closed bool
}

func (a *app) newFollower() *follower {
	switch {
	case a.quiet:
		return a.follower(silent{})
	case a.ErrTerminal && a.Env("TERM") != "dumb":
		return a.follower(newLive(a))
	}
	return a.follower(newPlain(a))
}

func (a *app) follower(p progress) *follower {
	a.shown = p
	return &follower{app: a, stopWatching: func() {}, log: a.logger(), progress: p}
}

// watch starts to show the run. Events up to past are processed but not shown.
func (f *follower) watch(ctx context.Context, run string, w *workflow.Workflow, past uint64, events bool) error {
	f.run = run
	f.progress.name(w)
	if events {
		f.events = newEventPrinter(f.app, run, w)
	}
	if err := f.skipPast(ctx, past); err != nil {
		return err
	}
	ctx, f.stopWatching = context.WithCancel(ctx)
	from := f.seq
	f.guard(f.watching.Go, func() {
		for u, err := range f.service.Watch(ctx, run, from) {
			switch {
			case err != nil:
				return // the run's end reports the error; sync shows missing events
			case u.Delta != nil:
				f.progress.delta(*u.Delta)
			case u.Event != nil:
				f.mu.Lock()
				f.show(*u.Event)
				f.mu.Unlock()
			}
		}
	})
	return nil
}

// skipPast processes the events up to last without showing them.
func (f *follower) skipPast(ctx context.Context, last uint64) error {
	f.seq = last
	if _, isSilent := f.progress.(silent); last == 0 || isSilent && f.events == nil {
		return nil
	}
	now := time.Now()
	err := f.service.EachEvent(ctx, f.run, 0, func(e event.Event) error {
		if e.Seq > last {
			return errReachedLast
		}
		if f.events != nil {
			f.events.skip(e)
		}
		if f.abandoned {
			e.At = now
		}
		f.progress.skip(e)
		return nil
	})
	if errors.Is(err, errReachedLast) {
		return nil
	}
	return err
}

var errReachedLast = errors.New("reached the last event")

// show shows an event once. The caller holds f.mu.
func (f *follower) show(e event.Event) {
	if e.Seq <= f.seq {
		return
	}
	f.seq = e.Seq
	if f.verbose {
		f.log.Debug("event", "run", f.run, "seq", e.Seq, "type", string(e.Data.Type()), "node", e.Node, "step", e.Step)
	}
	if f.events != nil {
		f.events.print(e)
	}
	f.progress.event(e)
}

// sync shows the events of the journal that watching has not delivered yet, and returns the run.
func (f *follower) sync(ctx context.Context) (service.Recorded, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rec, err := f.service.Read(ctx, f.run)
	if err != nil {
		return rec, err
	}
	return rec, f.service.EachEvent(ctx, f.run, f.seq, func(e event.Event) error {
		f.show(e)
		return nil
	})
}

// close stops watching, closes the service, and ends the display.
func (f *follower) close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.stopWatching()
	f.watching.Wait()
	err := f.service.Close()
	f.progress.done()
	return err
}

// follow waits for the run, answers its questions on a terminal, and returns the result as an exit
// error.
func (f *follower) follow(ctx context.Context) error {
	for {
		st, err := f.service.Wait(ctx, f.run)
		if ctx.Err() != nil {
			return f.interrupted()
		}
		if err != nil {
			return err
		}
		again := false
		switch {
		case st.Interrupted && f.resumeRun != nil:
			again, err = true, f.resumeOrWait(ctx)
		case st.Status == event.StatusPaused && f.InTerminal && f.ErrTerminal && !f.readOnly:
			again, err = f.ask(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return f.interrupted()
		case err != nil:
			return err
		case again:
			continue
		}
		rec, err := f.sync(ctx)
		if err != nil {
			return err
		}
		if err := f.result(ctx, rec); err != nil {
			return err
		}
		return f.status(rec.Object())
	}
}

// lockedUp ends the invocation when the store was locked for too long. The run cannot be changed
// then, but it can be read.
func (f *follower) lockedUp(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, waitNoticeDelay)
	defer cancel()
	_ = f.service.Interrupt(short, f.run) // the lock is the error to report
	if _, err := f.sync(ctx); err != nil {
		return &exit{ExitFailed, ""}
	}
	return &exit{ExitFailed, "run " + f.run + " is stored" + f.toContinue("")}
}

// interruptTime is how long an interrupted invocation waits for its calls.
const interruptTime = 5 * time.Second

// waitNoticeDelay is the delay after which it reports why it is still waiting.
const waitNoticeDelay = time.Second

// interrupted ends the invocation after Ctrl-C: the run is stored and can be resumed.
func (f *follower) interrupted() error {
	if f.readOnly {
		return f.detached()
	}
	ctx, cancel := context.WithTimeout(context.Background(), interruptTime)
	defer cancel()
	if f.lockedOut.Load() != nil {
		return f.lockedUp(ctx)
	}
	if !f.quiet {
		slow := time.AfterFunc(waitNoticeDelay, func() {
			f.progress.say("stopping; press Ctrl-C again to exit at once; stored results are kept\n")
		})
		defer slow.Stop()
	}
	if f.service.Interrupt(ctx, f.run) != nil {
		return &exit{ExitInterrupted, "interrupted; run " + f.run + " did not stop in time" + f.toContinue("")}
	}
	rec, err := f.sync(ctx)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return &exit{ExitInterrupted, "interrupted before the run started; nothing is stored"}
	case err != nil:
		return err
	}
	if err := f.result(ctx, rec); err != nil {
		return err
	}
	switch o := rec.Object(); {
	case o.Status.Ended():
		return f.status(o)
	case f.service.DB() == service.Memory:
		return &exit{ExitInterrupted, "interrupted"}
	case o.Status == event.StatusPaused:
		return &exit{ExitInterrupted, "interrupted; " + f.waits(o)}
	case !o.Interrupted:
		if f.server != "" {
			return &exit{ExitInterrupted, "detached; run " + o.ID + " continues at " + f.service.DB()}
		}
		return &exit{ExitInterrupted, "detached; run " + o.ID + " continues in another process"}
	default:
		return &exit{ExitInterrupted, "interrupted; run " + o.ID + " is stored" + f.toContinue("")}
	}
}

// detached ends an invocation that only watched: the run continues as before.
func (f *follower) detached() error {
	f.progress.done()
	return &exit{ExitInterrupted, "detached from run " + f.run +
		", which was not changed; attach again with:\n  hocket watch " + quote(f.run) + f.storeFlag()}
}

// toContinue returns the command that resumes the run, with further flags.
func (f *follower) toContinue(flags string) string {
	return ". Continue it with:\n  " + f.resumeLine(f.run, flags)
}

// toRetry returns the command that continues a failed run as a new one, with further flags.
func (f *follower) toRetry(flags string) string {
	return "\nto continue from there: " + f.lineOf("retry", f.run, flags)
}

// result prints the result of the run.
func (f *follower) result(ctx context.Context, rec service.Recorded) error {
	f.progress.done()
	o := rec.Object()
	f.totals(o)
	switch {
	case f.json:
		if err := f.object(ctx); err != nil {
			return err
		}
	case f.events != nil:
	case f.transcript != nil:
		if err := f.transcript.result(o); err != nil {
			return err
		}
	case o.Status == event.StatusCompleted:
		text := outputText(o.Output)
		if f.OutTerminal {
			text = printable(text)
		}
		if _, err := fmt.Fprintln(f.Out, text); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	if f.context {
		folder := project.NewFolder(f.run, rec.Workflow)
		if err := f.service.EachEvent(ctx, f.run, 0, func(e event.Event) error {
			folder.Add(e)
			return nil
		}); err != nil {
			return err
		}
		text := string(indent(folder.Context()))
		if f.ErrTerminal {
			text = printable(text)
		}
		fmt.Fprintf(f.Err, "--- Step Context ---\n%s\n", text)
	}
	return nil
}

// object prints the run object.
func (f *follower) object(ctx context.Context) error {
	r, err := f.service.View(ctx, f.run)
	if err != nil {
		return err
	}
	r.Room(viewRoom)
	o, err := r.RunWhole(ctx)
	if err != nil {
		return err
	}
	return f.writeWhole(ctx, o, shown{full: f.full}.style(f.run), f.OutTerminal && f.events == nil)
}

// status converts the status of a run that is no longer driven to an exit error.
func (f *follower) status(o project.Run) error {
	switch o.Status {
	case event.StatusCompleted:
		return nil
	case event.StatusCancelled:
		return &exit{ExitCancelled, "run " + o.ID + " was cancelled"}
	case event.StatusPaused:
		if f.service.DB() == service.Memory {
			return &exit{ExitPaused, "run " + o.ID + " waits, but --db " + service.Memory +
				" stores nothing: run it with a store to answer it later"}
		}
		return &exit{ExitPaused, f.waits(o)}
	case event.StatusFailed:
		return &exit{ExitFailed, f.failure(o)}
	}
	return &exit{ExitInterrupted, "run " + o.ID + " has no process that drives it" + f.toContinue("")}
}

// failure describes why the run failed, and how to continue if a limit ended it.
func (f *follower) failure(o project.Run) string {
	msg := "run " + o.ID + " failed"
	if o.Error == nil {
		return msg
	}
	if o.Error.Node != nil && *o.Error.Node != "" {
		msg += " at " + *o.Error.Node
	}
	msg += fmt.Sprintf(": %s (%s)", o.Error.Message, o.Error.Code)
	if h := hint(o); h != "" {
		msg += "\nhint: " + h
	}
	if f.service.DB() == service.Memory {
		return msg
	}
	switch verb, flags := continuation(o); {
	case isRefusedAddress(o): // a retry would be refused again
	case verb == "resume":
		msg += f.toContinue(flags)
	case verb == "retry":
		msg += f.toRetry(flags)
	case o.Error.Code == event.CodeParentBudget && o.ParentRun != nil:
		msg += fmt.Sprintf(". Continue run %s, which started it, with a larger budget", *o.ParentRun)
	}
	return msg
}

// continuation returns the verb that continues a failed run, resume or retry, and the flags that it
// needs. verb is "" if neither helps.
func continuation(o project.Run) (verb, flags string) {
	switch o.Error.Code {
	case event.CodeMaxSteps:
		return "resume", " --max-steps N"
	case event.CodeBudget:
		return "resume", " --budget N"
	case event.CodeWorkflowBudget:
		return "resume", ""
	case event.CodeTimeout:
		if o.Error.Node == nil || *o.Error.Node == "" {
			return "resume", " --timeout DURATION"
		}
	case event.CodeMaxLoopIterations:
		return "retry", " --max-iterations N"
	case event.CodeMaxBytes:
		return "retry", " --from STEP"
	case event.CodeParentBudget:
		return "", ""
	case event.CodeEnded: // the document makes the run fail here, and would do so again
		return "", ""
	}
	return "retry", ""
}

// isRefusedAddress reports whether a run failed because an address that it called is not public;
// the text is that of outbound.ErrRefused.
func isRefusedAddress(o project.Run) bool {
	return strings.Contains(o.Error.Message, "address refused: ")
}

// hint returns what a person can do about a failure, or "" if nothing is certain to help.
func hint(o project.Run) string {
	switch kind := model.ErrorKind(o.Error.Code); {
	case kind == model.KindAuth:
		return "check the key; hocket doctor shows which variable it comes from"
	case isRefusedAddress(o):
		return "an address that is not public needs permission: `hocket run --trust` opens those that the document " +
			"names, and outbound.allow in hocket.yaml opens any"
	case kind == model.KindNetwork && !strings.HasPrefix(o.Error.Message, "connect toolset"):
		return "check the address, and that its server is running; hocket doctor shows the addresses"
	case kind == model.KindNotFound && strings.HasPrefix(o.Error.Message, "404"):
		return "check the base URL, which hocket doctor shows; most end in /v1"
	case (kind == model.KindRateLimit || kind == model.KindOverloaded) && o.Workflow.Format != nil:
		if f, _ := format.Of(*o.Workflow.Format); f.RetryHint != "" {
			return "to retry the step automatically, " + f.RetryHint
		}
	}
	return ""
}
