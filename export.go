package hocket

import (
	"log/slog"
	"net/url"

	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/telemetry/otlp"
)

// OTLP says where an engine sends OpenTelemetry traces and metrics. OpenTelemetry's standard variables, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_SERVICE_NAME, are
// read by [Config.Env] and win over all fields: the zero OTLP is them alone, and where neither gives an address nothing is sent.
type OTLP struct {
	// Endpoint is the address of a collector that speaks OTLP over HTTP, `http://localhost:4318`; "": that of the variables.
	Endpoint string
	// Headers go with each request; nil: none.
	Headers map[string]string
	// Service is service.name; "": hocket.
	Service string
	// Content lets prompts, answers, arguments, results and texts of errors out; false keeps them in.
	Content bool
}

// WithTelemetry sends traces and metrics of all runs that the engine drives, of graphs and of documents, by the GenAI conventions. A run is one trace, also where it is resumed by
// another process with this option (P35); a collector that does not answer fails no run. [RunOptions.Telemetry] is beside it, for spans in the program's own SDK. Where the option is
// given twice, the last one counts. Errors, of [Open]: Endpoint is no http address. Variables that cannot be used are logged.
func WithTelemetry(o OTLP) Option {
	return func(s *settings) {
		c := otlp.Config{Service: o.Service, Content: o.Content}
		if o.Endpoint != "" {
			u, err := url.Parse(o.Endpoint)
			if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				s.problemf("the telemetry endpoint is not an HTTP address, such as http://localhost:4318")
				return
			}
			c.Traces = otlp.Target{URL: u.JoinPath("v1/traces").String(), Headers: o.Headers}
			c.Metrics = otlp.Target{URL: u.JoinPath("v1/metrics").String(), Headers: o.Headers}
		}
		s.telemetry = &c
	}
}

// exporting gives what the service is to send, nil for nothing.
func (s *settings) exporting(cfg service.Config, log *slog.Logger) *telemetry.Config {
	base := s.telemetry
	if base == nil {
		if cfg.Operator == nil || cfg.Operator.Telemetry.Endpoint == "" {
			return nil
		}
		base = new(service.OperatorTelemetry(cfg.Operator, otlp.Config{}))
	}
	t, err := service.Exporter(*base, cfg.Env, cfg.Keeper, log)
	if err != nil {
		log.Warn("telemetry variable ignored", "err", err)
	}
	return t
}
