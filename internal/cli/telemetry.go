package cli

import (
	"log/slog"

	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/telemetry/otlp"
)

// telemetry gives where traces and metrics go by OpenTelemetry's standard variables; nil where nobody wants any. What cannot be used of them keeps nothing from running.
func (a *app) telemetry(log *slog.Logger) *telemetry.Config {
	t, err := service.Exporter(service.OperatorTelemetry(a.operator, otlp.Config{Version: a.wiring.Version}), a.Env, a.keeper, log)
	if err != nil && !a.toldTelemetry {
		a.toldTelemetry = true
		log.Warn("a variable of telemetry is not used", "err", err)
	}
	return t
}
