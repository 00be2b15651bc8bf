package otlp_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/telemetry/otlp"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const base = "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318/x"

// TestFromEnv checks that the standard variables are read as OpenTelemetry's specification
// requires.
func TestFromEnv(t *testing.T) {
	t.Parallel()
	none := otlp.Config{}
	half := 0.5
	both := otlp.Config{Traces: otlp.Target{URL: "http://c:4318/x/v1/traces"},
		Metrics: otlp.Target{URL: "http://c:4318/x/v1/metrics"}, Service: "hocket"}
	with := func(change func(*otlp.Config)) otlp.Config {
		c := both
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		env  string
		want otlp.Config
		err  string
	}{
		"nothing":         {"", otlp.Config{Service: "hocket"}, ""},
		"disabled":        {base + "|OTEL_SDK_DISABLED=TRUE", none, ""},
		"for all signals": {base, both, ""},
		"for one signal": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://c/as/it/is",
			otlp.Config{Traces: otlp.Target{URL: "https://c/as/it/is"}, Service: "hocket"}, ""},
		"no metrics": {base + "|OTEL_METRICS_EXPORTER=none",
			with(func(c *otlp.Config) { c.Metrics = otlp.Target{} }), ""},
		"headers": {base + "|OTEL_EXPORTER_OTLP_HEADERS=a=1%202,b=3|OTEL_EXPORTER_OTLP_TRACES_HEADERS=b=4",
			with(func(c *otlp.Config) {
				c.Traces.Headers, c.Metrics.Headers = map[string]string{"a": "1 2", "b": "4"},
					map[string]string{"a": "1 2", "b": "3"}
			}), ""},
		"service": {base + "|OTEL_RESOURCE_ATTRIBUTES=service.name=a,k=v|OTEL_SERVICE_NAME=b",
			with(func(c *otlp.Config) { c.Service, c.Resource = "b", map[string]string{"k": "v"} }), ""},
		"resource's name": {base + "|OTEL_RESOURCE_ATTRIBUTES=service.name=a",
			with(func(c *otlp.Config) { c.Service, c.Resource = "a", map[string]string{} }), ""},
		"content": {base + "|OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true",
			with(func(c *otlp.Config) { c.Content = true }), ""},
		"ratio": {base + "|OTEL_TRACES_SAMPLER=parentbased_traceidratio|OTEL_TRACES_SAMPLER_ARG=0.5",
			with(func(c *otlp.Config) { c.Ratio = &half }), ""},
		"latest names": {base + "|OTEL_SEMCONV_STABILITY_OPT_IN=http, gen_ai_latest_experimental",
			with(func(c *otlp.Config) { c.Latest = true }), ""},
		"ratio alone": {base + "|OTEL_TRACES_SAMPLER=traceidratio|OTEL_TRACES_SAMPLER_ARG=0.5",
			with(func(c *otlp.Config) { c.Ratio, c.IgnoreCaller = &half, true }), ""},
		"times": {
			base + "|OTEL_EXPORTER_OTLP_TIMEOUT=1500|OTEL_METRIC_EXPORT_INTERVAL=2000|OTEL_BSP_SCHEDULE_DELAY=100",
			with(func(c *otlp.Config) {
				c.Traces.Timeout, c.Metrics.Timeout, c.Interval, c.Delay = 1500*time.Millisecond, 1500*time.Millisecond,
					2*time.Second, 100*time.Millisecond
			}), ""},
		"gRPC": {base + "|OTEL_EXPORTER_OTLP_PROTOCOL=grpc", otlp.Config{Service: "hocket"},
			`unsupported OTEL_EXPORTER_OTLP_PROTOCOL "grpc"`},
		"no address": {"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318", otlp.Config{Service: "hocket"},
			"OTEL_EXPORTER_OTLP_ENDPOINT is not a URL"},
		"odd number": {base + "|OTEL_METRIC_EXPORT_INTERVAL=soon", both, "OTEL_METRIC_EXPORT_INTERVAL"},
		"odd header": {base + "|OTEL_EXPORTER_OTLP_HEADERS=secret", both,
			"OTEL_EXPORTER_OTLP_HEADERS has an entry that is not key=value"},
		"odd sampler": {base + "|OTEL_TRACES_SAMPLER=jaeger_remote", both, "OTEL_TRACES_SAMPLER"},
		"odd content": {base + "|OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=yes", both, "not true or false"},
		"certificate": {base + "|OTEL_EXPORTER_OTLP_CERTIFICATE=ca.pem", both,
			"OTEL_EXPORTER_OTLP_CERTIFICATE is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vars := map[string]string{}
			for entry := range strings.SplitSeq(test.env, "|") {
				k, v, _ := strings.Cut(entry, "=")
				vars[k] = v
			}
			got, err := otlp.FromEnv(otlp.Config{}, func(k string) string { return vars[k] })
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
			if (err == nil) != (test.err == "") || err != nil && (!strings.Contains(err.Error(), test.err) ||
				strings.Contains(err.Error(), "secret")) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

var one = []telemetry.Span{{Trace: telemetry.TraceOf("r"), ID: telemetry.SpanID{1}, Name: "x",
	Kind: telemetry.KindInternal, Start: time.Unix(1, 0), End: time.Unix(2, 0)}}

// TestExporter checks that the exporter resends what the collector asks for and reports what the
// collector rejects, and that the operator may name a private address (D34).
func TestExporter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status []int
		answer string
		err    string
	}{
		"taken":    {[]int{200}, "", ""},
		"again":    {[]int{503, 200}, "", ""},
		"refused":  {[]int{401}, "", "401"},
		"rejected": {[]int{200}, "\x0a\x07\x08\x02\x12\x03odd", "2 entries rejected: odd"},
		"no proto": {[]int{200}, "<html>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			n := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				z, err := gzip.NewReader(r.Body)
				var d v1.TracesData
				if err == nil {
					var body []byte
					body, err = io.ReadAll(z)
					err = errors.Join(err, proto.Unmarshal(body, &d))
				}
				if err != nil || len(d.GetResourceSpans()) != 1 || r.Header.Get("Authorization") != "key" {
					t.Errorf("%v, %v, %v", err, &d, r.Header)
				}
				w.WriteHeader(test.status[n])
				n++
				_, _ = io.WriteString(w, test.answer)
			}))
			defer srv.Close()
			e := otlp.New(otlp.Config{
				Traces: otlp.Target{URL: srv.URL, Gzip: true, Headers: map[string]string{"Authorization": "key"}},
			})
			defer e.Close()
			err := e.Spans(t.Context(), one)
			if (err == nil) != (test.err == "") || err != nil && (!strings.Contains(err.Error(), test.err) ||
				strings.Contains(err.Error(), "key")) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if n != len(test.status) {
				t.Errorf("%d requests, want %d", n, len(test.status))
			}
		})
	}
}
