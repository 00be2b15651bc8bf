package hocket

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
)

// SnapshotOf gives everything about a run as it stands now, whoever drives it (S2-63). [RunOptions].ResumeFrom goes on with it, in another process and on
// another store too; a run that goes on meanwhile is ahead of its snapshot.
//
// Errors: [ErrNotFound]; *[VersionError] where the run belongs to another version of the graph; [ErrClosed].
func SnapshotOf[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], run string) (*Snapshot[S], error) {
	b, err := bind(e, g)
	if err != nil {
		return nil, err
	}
	if _, err := e.check(ctx, b, run); err != nil {
		return nil, err
	}
	r, err := result(ctx, g, &following{e: e, b: b, run: run})
	if err != nil {
		return nil, err
	}
	return &r.Snapshot, nil
}

// result folds the journal of the run. A run that can go on takes its journal along.
func result[S any](ctx context.Context, g *graph.Compiled[S], f *following) (*Result[S], error) {
	p, err := f.e.service.Export(ctx, f.run)
	if err != nil {
		return nil, known(err)
	}
	folder := project.NewGraphStateFolder(f.run, f.b.plan)
	for _, ev := range p.Events {
		if _, err := folder.Add(ev); err != nil {
			return nil, fmt.Errorf("read run %s: %w", f.run, err)
		}
	}
	r, err := resultOf(g, f, folder.State())
	if err != nil {
		return nil, err
	}
	if !engine.Status(r.Status).Ended() {
		r.Snapshot.Journal, err = p.Seal()
	}
	return r, err
}

// adopt makes sure that the engine has the run of a snapshot.
func adopt[S any](ctx context.Context, e *Engine, b *bound, o RunOptions[S]) (run string, err error) {
	s := o.ResumeFrom
	if o.ID != "" && o.ID != s.ExecutionID {
		return "", fmt.Errorf("resume run %s: the id of a run cannot be changed to %s", s.ExecutionID, o.ID)
	}
	if len(s.Journal) == 0 {
		return s.ExecutionID, nil
	}
	p, err := journal.OpenParcel(s.Journal)
	if err != nil {
		return "", &SnapshotError{Run: s.ExecutionID, Err: err}
	}
	if p.Run != s.ExecutionID {
		return "", &SnapshotError{Run: s.ExecutionID, Err: fmt.Errorf("its journal belongs to run %s", p.Run)}
	}
	if created, ok := p.Events[0].Data.(*engine.RunCreated); ok && created.Digest != b.Digest {
		return "", &VersionError{Run: p.Run, Graph: b.Workflow.Name, Have: b.Digest, Want: created.Digest}
	}
	err = e.service.Import(ctx, p, b.Graph)
	_, diverges := errors.AsType[*engine.DivergenceError](err)
	_, corrupt := errors.AsType[*journal.CorruptError](err)
	if diverges || corrupt {
		return "", &SnapshotError{Run: p.Run, Err: err}
	}
	return p.Run, known(err)
}
