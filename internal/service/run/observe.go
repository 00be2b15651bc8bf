package run

import (
	"context"
	"log/slog"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/workflow"
)

// journalSource reads the data that telemetry needs but was not passed.
type journalSource struct{ *Runner }

var _ telemetry.Source = journalSource{}

// Workflow implements telemetry.Source.
func (s journalSource) Workflow(ctx context.Context, run string) (*workflow.Workflow, error) {
	_, w, err := s.RunDefinition(ctx, run)
	return w, err
}

// maxCounted is the maximum number of waiting runs counted at a time.
const maxCounted = 10_000

// Waiting implements telemetry.Source.
func (s journalSource) Waiting(ctx context.Context) (int, error) {
	n := 0
	q := journal.Query{Statuses: []journal.Status{journal.StatusPaused}, Limit: 1000}
	for {
		heads, next, err := s.store.List(ctx, q)
		if err != nil {
			return 0, err
		}
		n += len(heads)
		if q.Cursor = next; next == "" || n >= maxCounted {
			return n, nil
		}
	}
}

// Metrics returns the metrics of the runs that were driven here, in telemetry's form; nil without
// Config.Metrics and Config.Telemetry.
func (s *Runner) Metrics(ctx context.Context) []telemetry.Metric {
	if s.telemetry == nil {
		return nil
	}
	return s.telemetry.Metrics(ctx)
}

// observe receives durable events.
func (s *Runner) observe(run string, events []event.Event) {
	if s.telemetry != nil {
		s.telemetry.Saw(run, events)
	}
	ctx := context.Background()
	if !s.cfg.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for i := range events {
		e := &events[i]
		attrs := []slog.Attr{slog.String("run", run), slog.Uint64("seq", e.Seq),
			slog.String("type", string(e.Data.Type()))}
		if e.Step > 0 {
			attrs = append(attrs, slog.String("node", e.Node), slog.Int("step", e.Step))
		}
		if code := codeOf(e.Data); code != "" {
			attrs = append(attrs, slog.String("code", code))
		}
		s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "event", attrs...)
	}
}

// codeOf returns the code of the failure that an event reports, or "" for all other events. The
// message may contain output of models and tools, and is not logged.
func codeOf(d event.Data) string {
	switch d := d.(type) {
	case *event.RunFailed:
		return d.Error.Code
	case *event.StepFailed:
		return d.Error.Code
	case *event.StepRetrying:
		return d.Error.Code
	case *event.ModelFailed:
		return d.Error.Code
	case *event.ToolFailed:
		return d.Error.Code
	case *event.SubagentFailed:
		return d.Error.Code
	case *event.FuncReturned:
		if d.Error != nil {
			return d.Error.Code
		}
	}
	return ""
}
