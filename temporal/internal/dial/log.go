package dial

import (
	"context"
	"fmt"
	"log/slog"
)

// The SDK's warning about a poll that failed because its worker is stopping. It is not a failure,
// and a user who runs a command would see it.
const (
	pollFailed    = "Failed to poll for task."
	workerStopped = "worker stopping"
)

// sdkLog forwards the SDK's log messages, except for that warning. Messages about its own work,
// such as the start and stop of each worker, are logged at debug level.
type sdkLog struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h sdkLog) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, debugLevel(level))
}

func debugLevel(level slog.Level) slog.Level {
	if level == slog.LevelInfo {
		return slog.LevelDebug
	}
	return level
}

// Handle implements slog.Handler.
func (h sdkLog) Handle(ctx context.Context, r slog.Record) error {
	ended := false
	r.Attrs(func(a slog.Attr) bool {
		ended = ended || fmt.Sprint(a.Value.Any()) == workerStopped
		return !ended
	})
	if ended && r.Message == pollFailed {
		return nil
	}
	r.Level = debugLevel(r.Level)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h sdkLog) WithAttrs(attrs []slog.Attr) slog.Handler { return sdkLog{h.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (h sdkLog) WithGroup(name string) slog.Handler { return sdkLog{h.Handler.WithGroup(name)} }
