package dial

import (
	"context"
	"fmt"
	"log/slog"
)

// The SDK's warning of a poll that failed because its worker ends. It is no failure, and who runs a command would see it.
const (
	pollFailed    = "Failed to poll for task."
	workerStopped = "worker stopping"
)

// sdkLog passes on what the SDK logs, apart from that warning.
type sdkLog struct{ slog.Handler }

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
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h sdkLog) WithAttrs(attrs []slog.Attr) slog.Handler { return sdkLog{h.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (h sdkLog) WithGroup(name string) slog.Handler { return sdkLog{h.Handler.WithGroup(name)} }
