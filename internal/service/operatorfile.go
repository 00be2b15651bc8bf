package service

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/price"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/telemetry/otlp"
)

// ReadOperator fills Operator and Prices from a configuration that must be there, and from the file of prices that it names.
//
// Errors: that of a file that cannot be read; a diag.List where something is wrong in one. The Config is then as it was.
func (c *Config) ReadOperator(path string) error {
	operator, problems, err := config.Load(path, func(string) string { return "" })
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil {
		return err
	}
	prices, problems, err := OperatorPrices(operator)
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil {
		return err
	}
	c.Operator, c.Prices = operator, prices
	return nil
}

// OperatorPrices reads the operator's file of prices, over those that Hocket knows; nil where he names none.
func OperatorPrices(c *config.Config) (*price.Table, diag.List, error) {
	if c.Prices == "" {
		return nil, nil, nil
	}
	data, err := definition.ReadFile(c.Prices, nil)
	if err != nil {
		return nil, nil, err
	}
	table, problems := price.Parse(c.Prices, data)
	return table.Over(price.Default()), problems, nil
}

// OperatorTelemetry gives base with the addresses of the operator's collector.
func OperatorTelemetry(c *config.Config, base otlp.Config) otlp.Config {
	if c == nil || c.Telemetry.Endpoint == "" {
		return base
	}
	at := strings.TrimSuffix(c.Telemetry.Endpoint, "/")
	base.Traces.URL, base.Metrics.URL, base.Content = at+"/v1/traces", at+"/v1/metrics", c.Telemetry.Content
	return base
}

// Exporter gives where traces and metrics go by base and OpenTelemetry's standard variables, which win; nil where none is wanted. What goes along in
// headers is registered with the keeper, and what collectors answer is logged without it (SEC11). The error joins what cannot be used; the rest holds.
func Exporter(base otlp.Config, env func(string) string, keeper *secret.Keeper, log *slog.Logger) (*telemetry.Config, error) {
	cfg, err := otlp.FromEnv(base, env)
	if !cfg.On() {
		return nil, err
	}
	for _, t := range []otlp.Target{cfg.Traces, cfg.Metrics} {
		for name, value := range t.Headers {
			for _, part := range append(strings.Fields(value), value) {
				if secret.IsSecret(name, part) {
					err = errors.Join(err, keeper.Add("header "+name, part))
				}
			}
		}
	}
	t := otlp.New(cfg).Telemetry()
	t.Logger = slog.New(keeper.Handler(log.Handler()))
	return &t, err
}
