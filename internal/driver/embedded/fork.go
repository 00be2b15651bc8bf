package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// ErrForkPoint says that a run cannot branch off at an event: it has no such one, or had ended with it.
var ErrForkPoint = errors.New("no place to fork from")

// Fork stores a new run that has the past of another one up to the event at, and gives its id. Events of one activation belong together, so those that
// were stored with at are taken too. Nobody owns the new run: Resume and Answer go on with it. Calls that were under way at that point are made again there,
// with keys of their own. allow, if not nil, is shown that past, and its error is given back.
//
// Errors, with nothing stored: journal.ErrNotFound, *journal.CorruptError; ErrForkPoint.
func (d *Driver) Fork(ctx context.Context, run string, at uint64, allow func(past []engine.Event) error) (fork string, err error) {
	defer recovered(&err)
	head, err := d.cfg.Store.Head(ctx, run)
	if err != nil {
		return "", err
	}
	c, err := d.definition(ctx, head.Definition)
	if err != nil {
		return "", journal.InRun(run, err)
	}
	past, err := d.past(ctx, run, at)
	if err != nil {
		return "", err
	}
	if allow != nil {
		if err := allow(past); err != nil {
			return "", err
		}
	}
	fork = driver.NewRunID(d.now())
	r := engine.New(c.plan, fork)
	if err := r.Apply(past); err != nil {
		return "", fmt.Errorf("fork run %s: %w", run, err)
	}
	if r.Status().Ended() {
		return "", fmt.Errorf("fork run %s at event %d: %w: the run had ended", run, at, ErrForkPoint)
	}
	blobs, err := d.kept(ctx, head)
	if err != nil {
		return "", fmt.Errorf("fork run %s: %w", run, err)
	}
	data, values, err := journal.Encode(past)
	if err != nil {
		return "", fmt.Errorf("fork run %s: %w", run, err)
	}
	status := r.Status()
	if status == engine.StatusPaused && r.InFlight() > 0 {
		status = engine.StatusRunning // it needs an owner
	}
	create := head.NewRun
	create.Meta = tracecontext.Keep(maps.Clone(head.Meta), tracecontext.From(ctx)) // its caller is another one
	create.Parent, create.Session, create.Created, create.Kind = "", "", d.now(), d.cfg.Kind
	a := journal.Append{
		Run: fork, At: d.now(), Status: journal.Status(status), Waiting: len(r.Waits()), Release: true, Create: &create,
		Record: journal.Record{First: 1, Last: r.Seq(), Data: data}, Blobs: append(blobs, values...),
		Notices: openWaits(past, r),
	}
	if err := d.cfg.Store.Append(context.WithoutCancel(ctx), a); err != nil {
		return "", fmt.Errorf("fork run %s: %w", run, err)
	}
	return fork, nil
}

// past gives the events of a run up to the record that has the event at, as those of a run that was forked from it.
func (d *Driver) past(ctx context.Context, run string, at uint64) ([]engine.Event, error) {
	var past []engine.Event
	err := d.events(ctx, run, 0, func(events []engine.Event) error {
		if len(past) == 0 || past[len(past)-1].Seq < at {
			past = append(past, events...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if at == 0 || len(past) == 0 || past[len(past)-1].Seq < at {
		return nil, fmt.Errorf("fork run %s at event %d: %w: it has %d events", run, at, ErrForkPoint, len(past))
	}
	created, ok := past[0].Data.(*engine.RunCreated)
	if !ok {
		return nil, &journal.CorruptError{Run: run, Seq: 1, Reason: "it was never created"}
	}
	first := *created
	first.ForkedFrom, first.ParentRun, first.Above = run, "", nil
	first.Meta = tracecontext.Keep(maps.Clone(created.Meta), tracecontext.From(ctx))
	past[0].Data = &first
	withoutChildren(past)
	for i := range past {
		if d, ok := past[i].Data.(*engine.RunResumed); ok && d.Above != nil { // no run stands above a fork
			free := *d
			free.Above = nil
			past[i].Data = &free
		}
	}
	return past, nil
}

// withoutChildren makes of child runs that had not ended some that used no more than was told by then: they are the other run's, and the calls that started them are made
// again here, with runs of their own.
func withoutChildren(past []engine.Event) {
	last, used := map[string]int{}, map[string]engine.Used{}
	for i := range past {
		switch d := past[i].Data.(type) {
		case *engine.ChildStarted:
			last[d.Run] = i
		case *engine.CallUsed:
			if used[d.Run] = d.Used; d.Run != "" && d.Ended {
				delete(last, d.Run)
			} else if d.Run != "" {
				last[d.Run] = i
			}
		}
	}
	for run, i := range last {
		switch d := past[i].Data.(type) {
		case *engine.ChildStarted:
			end := &engine.CallUsed{Call: d.Call, Attempt: d.Attempt}
			if u, told := used[run]; told {
				end.Run, end.Ended, end.Used = run, true, u
			}
			past[i].Data = end
		case *engine.CallUsed:
			end := *d
			end.Ended = true
			past[i].Data = &end
		}
	}
}

// kept gives the blobs that a run was started with: its definition and its files.
func (d *Driver) kept(ctx context.Context, head journal.Head) ([]journal.Blob, error) {
	hashes := []string{head.Definition}
	for key, hash := range head.Meta {
		if strings.HasPrefix(key, metaFile) {
			hashes = append(hashes, hash)
		}
	}
	var blobs []journal.Blob
	for _, hash := range hashes {
		data, err := d.cfg.Store.Blob(ctx, hash)
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, journal.NewBlob(data))
	}
	return blobs, nil
}
