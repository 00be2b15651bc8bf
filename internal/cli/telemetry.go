package cli

import (
	"log/slog"
	"strings"

	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/telemetry/otlp"
)

// telemetry gives where traces and metrics go by OpenTelemetry's standard variables; nil where nobody wants any. What cannot be used of them keeps nothing from running.
func (a *app) telemetry(log *slog.Logger) *telemetry.Config {
	cfg, err := otlp.FromEnv(a.telemetryBase(), a.Env)
	if err != nil && !a.toldTelemetry {
		a.toldTelemetry = true
		log.Warn("a variable of telemetry is not used", "err", err)
	}
	if !cfg.On() {
		return nil
	}
	t := otlp.New(cfg).Telemetry()
	t.Logger = log
	return &t
}

// telemetryBase is what the operator's configuration says.
func (a *app) telemetryBase() otlp.Config {
	c := otlp.Config{Version: a.wiring.Version}
	if a.operator == nil || a.operator.Telemetry.Endpoint == "" {
		return c
	}
	base := strings.TrimSuffix(a.operator.Telemetry.Endpoint, "/")
	c.Traces.URL, c.Metrics.URL, c.Content = base+"/v1/traces", base+"/v1/metrics", a.operator.Telemetry.Content
	return c
}
