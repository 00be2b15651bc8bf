package secret

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// Handler returns a handler that redacts kept values in messages and attributes before h sees them.
func (k *Keeper) Handler(h slog.Handler) slog.Handler { return &handler{k, h} }

type handler struct {
	keeper *Keeper
	next   slog.Handler
}

func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, h.keeper.Redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, out)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return &handler{h.keeper, h.next.WithAttrs(clean)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.keeper, h.next.WithGroup(name)}
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.keeper.Redact(v.String()))
	case slog.KindGroup:
		group := v.Group()
		clean := make([]slog.Attr, len(group))
		for i, g := range group {
			clean[i] = h.attr(g)
		}
		a.Value = slog.GroupValue(clean...)
	case slog.KindAny:
		// Handlers print values as text or as JSON: both forms are checked, and the text replaces a
		// value that contains a secret.
		text := fmt.Sprintf("%+v", v.Any())
		switch raw := v.Any().(type) {
		case []byte:
			text = string(raw)
		case json.RawMessage:
			text = string(raw)
		}
		clean := h.keeper.Redact(text)
		if clean == text {
			if j, err := json.Marshal(v.Any()); err == nil && h.keeper.Redact(string(j)) != string(j) {
				clean = h.keeper.Redact(string(j))
			} else {
				return a
			}
		}
		a.Value = slog.StringValue(clean)
	}
	return a
}
