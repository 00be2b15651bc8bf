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

// ReadOperator fills Operator and Prices from a configuration file, which must exist, and from the
// price file that it names.
//
// It returns the error of a file that cannot be read, or a diag.List if a file contains errors. The
// Config is then unchanged.
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

// OperatorPrices reads the operator's price file, which overrides the built-in prices; it returns
// nil if the operator names none.
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

// OperatorTelemetry returns base with the addresses of the operator's collector.
func OperatorTelemetry(c *config.Config, base otlp.Config) otlp.Config {
	if c == nil || c.Telemetry.Endpoint == "" {
		return base
	}
	at := strings.TrimSuffix(c.Telemetry.Endpoint, "/")
	base.Traces.URL, base.Metrics.URL, base.Content = at+"/v1/traces", at+"/v1/metrics", c.Telemetry.Content
	return base
}

// Exporter returns where traces and metrics are sent according to base and to OpenTelemetry's
// standard variables, which take precedence; nil if neither is wanted. Header values are registered
// with the keeper, and responses of collectors are logged without them (SEC11). The error joins the
// settings that cannot be used; the others apply.
func Exporter(base otlp.Config, env func(string) string, keeper *secret.Keeper, log *slog.Logger) (
	*telemetry.Config, error) {
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
