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

// telemetry returns where traces and metrics go according to OpenTelemetry's standard variables, or
// nil if none are wanted. Unusable variables keep nothing from running.
func (a *app) telemetry(log *slog.Logger) *telemetry.Config {
	t, err := service.Exporter(service.OperatorTelemetry(a.operator, otlp.Config{Version: a.wiring.Version}), a.Env,
		a.keeper, log)
	if err != nil && !a.warnedTelemetry {
		a.warnedTelemetry = true
		log.Warn("telemetry variable ignored", "err", err)
	}
	return t
}

// joinTrace makes a command part of the trace that TRACEPARENT and TRACESTATE name. Verbs that
// serve requests are excluded, since each of their requests has its own trace.
func (a *app) joinTrace(c *cobra.Command) {
	if name := c.Name(); name == "serve" || name == "mcp" {
		return
	}
	sc := tracecontext.Of(func(name string) string { return a.Env(strings.ToUpper(name)) })
	c.SetContext(tracecontext.With(c.Context(), sc))
}
