package otlp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Config configures where telemetry is sent. The zero Config sends nothing.
type Config struct {
	// Traces and Metrics are the destinations of each signal; a signal without URL is not sent.
	Traces, Metrics Target
	// Service is service.name; "" means hocket. Version is service.version; "" means none.
	Service, Version string
	// Resource contains additional resource attributes.
	Resource map[string]string
	// Content exports prompts, replies, arguments, results and error texts.
	Content bool
	// Ratio is the fraction of traces that is sent; nil means all. For traces that a caller
	// started, the caller's flag decides, unless IgnoreCaller is set.
	Ratio        *float64
	IgnoreCaller bool
	// Latest is as in telemetry.Config.
	Latest bool
	// Interval is the time between two exports of metrics, Delay is how long spans wait to be
	// batched; 0 means 60 s and 5 s.
	Interval, Delay time.Duration
}

// Target is one destination.
type Target struct {
	// URL is the complete address, such as `http://localhost:4318/v1/traces`.
	URL string
	// Headers are sent with each request.
	Headers map[string]string
	// Timeout limits one export, including its retries; 0 means 10 s.
	Timeout time.Duration
	// Gzip compresses request bodies.
	Gzip bool
}

// On reports whether anything is sent.
func (c *Config) On() bool { return c.Traces.URL != "" || c.Metrics.URL != "" }

// FromEnv overlays base, the operator's configuration, with the standard environment variables. If
// env is nil, os.Getenv is used. The error joins all invalid values, each with the name of its
// variable; such a variable is ignored, and the others apply.
//
// Source: OpenTelemetry specification 1.50, environment variables and OTLP exporter;
// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT of the GenAI conventions.
func FromEnv(base Config, env func(string) string) (Config, error) {
	if env == nil {
		env = os.Getenv
	}
	r := reader{env: env}
	c := base
	if r.truth("OTEL_SDK_DISABLED", false) {
		return Config{}, errors.Join(r.problems...)
	}
	c.Traces = r.target(base.Traces, "TRACES", "v1/traces")
	c.Metrics = r.target(base.Metrics, "METRICS", "v1/metrics")
	c.Resource = maps.Clone(base.Resource)
	for k, v := range r.pairs("OTEL_RESOURCE_ATTRIBUTES") {
		if c.Resource == nil {
			c.Resource = map[string]string{}
		}
		c.Resource[k] = v
	}
	c.Service = cmp.Or(env("OTEL_SERVICE_NAME"), c.Resource["service.name"], base.Service, "hocket")
	delete(c.Resource, "service.name")
	c.Content = r.truth("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", base.Content)
	for entry := range strings.SplitSeq(env("OTEL_SEMCONV_STABILITY_OPT_IN"), ",") {
		// other entries are for other libraries
		c.Latest = c.Latest || strings.TrimSpace(entry) == "gen_ai_latest_experimental"
	}
	c.Interval = r.millis("OTEL_METRIC_EXPORT_INTERVAL", base.Interval)
	c.Delay = r.millis("OTEL_BSP_SCHEDULE_DELAY", base.Delay)
	r.sampler(&c)
	for _, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		for _, signal := range []string{"", "TRACES_", "METRICS_"} {
			if v := "OTEL_EXPORTER_OTLP_" + signal + name; env(v) != "" && c.On() {
				r.problemf("%s is not supported; certificates are those of the system (SSL_CERT_FILE)", v)
			}
		}
	}
	return c, errors.Join(r.problems...)
}

type reader struct {
	env      func(string) string
	problems []error
}

func (r *reader) problemf(format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf(format, args...))
}

// lookup returns the variable of a signal, or the one for all signals, with its name.
func (r *reader) lookup(signal, what string) (name, value string) {
	name = "OTEL_EXPORTER_OTLP_" + signal + "_" + what
	if v := strings.TrimSpace(r.env(name)); v != "" {
		return name, v
	}
	name = "OTEL_EXPORTER_OTLP_" + what
	return name, strings.TrimSpace(r.env(name))
}

// target reads the destination of one signal. The path is appended to the address for all signals,
// but not to the address of a single signal.
func (r *reader) target(t Target, signal, path string) Target {
	if name := "OTEL_" + signal + "_EXPORTER"; true {
		switch v := strings.TrimSpace(r.env(name)); v {
		case "", "otlp":
		case "none":
			return Target{}
		default:
			r.problemf("unsupported %s %q; known: otlp, none", name, v)
			return Target{}
		}
	}
	name, v := r.lookup(signal, "ENDPOINT")
	if v != "" {
		u, err := url.Parse(v)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			r.problemf("%s is not a URL such as http://localhost:4318", name)
			return Target{}
		case name == "OTEL_EXPORTER_OTLP_ENDPOINT":
			u = u.JoinPath(path)
		}
		t.URL = u.String()
	}
	if t.URL == "" {
		return Target{}
	}
	switch name, v := r.lookup(signal, "PROTOCOL"); v {
	case "", "http/protobuf":
	default:
		r.problemf("unsupported %s %q; known: http/protobuf", name, v)
		return Target{}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_" + signal + "_HEADERS"} {
		if pairs := r.pairs(name); len(pairs) > 0 {
			merged := maps.Clone(t.Headers)
			if merged == nil {
				merged = map[string]string{}
			}
			maps.Copy(merged, pairs)
			t.Headers = merged
		}
	}
	switch name, v := r.lookup(signal, "COMPRESSION"); v {
	case "":
	case "gzip", "none":
		t.Gzip = v == "gzip"
	default:
		r.problemf("unsupported %s %q; known: gzip, none", name, v)
	}
	name, _ = r.lookup(signal, "TIMEOUT")
	t.Timeout = r.millis(name, t.Timeout)
	return t
}

func (r *reader) millis(name string, or time.Duration) time.Duration {
	v := strings.TrimSpace(r.env(name))
	if v == "" {
		return or
	}
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil || n <= 0 {
		r.problemf("%s is %q, not a number of milliseconds above 0", name, v)
		return or
	}
	return time.Duration(n) * time.Millisecond
}

func (r *reader) truth(name string, or bool) bool {
	switch v := strings.ToLower(strings.TrimSpace(r.env(name))); v {
	case "":
		return or
	case "true":
		return true
	case "false":
		return false
	default:
		r.problemf("%s is %q, not true or false", name, v)
		return or && name != "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
	}
}

// pairs parses `key=value,key=value`, percent-encoded. Problems do not include the values, because
// headers contain keys.
func (r *reader) pairs(name string) map[string]string {
	out := map[string]string{}
	for entry := range strings.SplitSeq(r.env(name), ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		k, v, ok := strings.Cut(entry, "=")
		value, err := url.PathUnescape(strings.TrimSpace(v))
		if k = strings.TrimSpace(k); !ok || k == "" || err != nil {
			r.problemf("%s has an entry that is not key=value", name)
			continue
		}
		out[k] = value
	}
	return out
}

// sampler reads which traces are sent. The default is parentbased_always_on.
func (r *reader) sampler(c *Config) {
	v, parent := strings.CutPrefix(strings.TrimSpace(r.env("OTEL_TRACES_SAMPLER")), "parentbased_")
	ratio := 1.0
	switch v {
	case "":
		return
	case "always_on":
	case "always_off":
		ratio = 0
	case "traceidratio":
		arg := strings.TrimSpace(r.env("OTEL_TRACES_SAMPLER_ARG"))
		f, err := strconv.ParseFloat(cmp.Or(arg, "1"), 64)
		if err != nil || f < 0 || f > 1 {
			r.problemf("OTEL_TRACES_SAMPLER_ARG is %q, not a number from 0 to 1", arg)
			return
		}
		ratio = f
	default:
		r.problemf("unsupported OTEL_TRACES_SAMPLER %q; known: always_on, always_off and traceidratio, with or "+
			"without the prefix parentbased_", v)
		return
	}
	c.Ratio, c.IgnoreCaller = &ratio, !parent
}
