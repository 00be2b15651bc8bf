package cli

import (
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/telemetry/otlp"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// telemetry gives where traces and metrics go by OpenTelemetry's standard variables; nil where none is wanted. What cannot be used of them keeps nothing from running.
func (a *app) telemetry(log *slog.Logger) *telemetry.Config {
	t, err := service.Exporter(service.OperatorTelemetry(a.operator, otlp.Config{Version: a.wiring.Version}), a.Env, a.keeper, log)
	if err != nil && !a.toldTelemetry {
		a.toldTelemetry = true
		log.Warn("telemetry variable ignored", "err", err)
	}
	return t
}

// joinTrace lets a command be part of the trace that TRACEPARENT and TRACESTATE name. Those that serve are not: each of their requests has a trace of its own.
func (a *app) joinTrace(c *cobra.Command) {
	if name := c.Name(); name == "serve" || name == "mcp" {
		return
	}
	sc := tracecontext.Of(func(name string) string { return a.Env(strings.ToUpper(name)) })
	c.SetContext(tracecontext.With(c.Context(), sc))
}
