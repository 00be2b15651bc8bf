package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/telemetry"
)

// scrapeTime is the timeout of one scrape of the metrics.
const scrapeTime = 5 * time.Second

// metrics are the metrics of the process, in the Prometheus format. Labels have a bounded number of
// values: routes are patterns, never paths.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	hooks    map[string]*prometheus.CounterVec // by the kinds of hooks.Config.Count
	active   prometheus.Gauge
	streams  prometheus.Gauge
}

func newMetrics(version string, flight *inflight.Pool) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hocket_http_requests_total",
			Help: "Requests answered"}, []string{"route", "method", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hocket_http_request_duration_seconds", Help: "Duration of requests, without event streams",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "method"}),
		hooks: map[string]*prometheus.CounterVec{
			hooks.CountDelivery: prometheus.NewCounterVec(
				prometheus.CounterOpts{Name: "hocket_webhook_deliveries_total",
					Help: "Deliveries to webhooks, by result"}, []string{"result"}),
			hooks.CountTry: prometheus.NewCounterVec(
				prometheus.CounterOpts{Name: "hocket_notification_attempts_total",
					Help: "Attempts to send a notification, by result"}, []string{"result"}),
		},
		active: prometheus.NewGauge(prometheus.GaugeOpts{Name: "hocket_http_requests_active",
			Help: "Requests in progress, including event streams"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "hocket_http_event_streams_active",
			Help: "Open event streams"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "hocket_build_info", Help: "Always 1, with the version",
		ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	inUse := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "hocket_http_in_flight_bytes",
		Help: "Memory in bytes that requests and responses hold"}, func() float64 {
		now, _ := flight.InUse()
		return float64(now)
	})
	for _, c := range m.hooks {
		m.registry.MustRegister(c)
	}
	m.registry.MustRegister(m.requests, m.took, m.active, m.streams, inUse, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// metricsMount returns the mount of the metrics. Series of the process are for all callers. Those
// of a namespace have the names of its workflows, models, tools and addresses: they are for its own
// tokens, for admins of access.DefaultNamespace, and for everyone if the operator makes the metrics
// public.
func (s *Server) metricsMount() Mount {
	public := s.cfg.Metrics == config.MetricsPublic
	var views sync.Map // http.Handler by namespace; "" is all namespaces
	handler := getOnly(func(w http.ResponseWriter, r *http.Request) {
		namespace := ""
		if !public {
			c, err := transport.Require(r.Context(), access.RoleRun)
			if err != nil {
				transport.WriteProblem(w, r, transport.ProblemOf(err))
				return
			}
			if !c.May(access.RoleAdmin) || c.Namespace != access.DefaultNamespace {
				namespace = c.Namespace
			}
		}
		view, ok := views.Load(namespace)
		if !ok {
			view, _ = views.LoadOrStore(namespace, s.metricsView(namespace))
		}
		view.(http.Handler).ServeHTTP(w, r)
	})
	return Mount{Name: "metrics", Patterns: []string{"/metrics"}, Handler: handler, Routes: []string{"GET /metrics"},
		Open: public}
}

// metricsView returns the handler of the metrics of the process and of one namespace; "" means all
// namespaces.
func (s *Server) metricsView(namespace string) http.Handler {
	runs := prometheus.NewRegistry()
	runs.MustRegister(runMetrics{s, namespace})
	return promhttp.HandlerFor(prometheus.Gatherers{s.metrics.registry, runs}, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelError), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 2 * scrapeTime,
	})
}

// begin records that a request is in flight, until the returned function is called.
func (m *metrics) begin(stream bool) (end func()) {
	m.active.Inc()
	if stream {
		m.streams.Inc()
	}
	return func() {
		m.active.Dec()
		if stream {
			m.streams.Dec()
		}
	}
}

// hooked counts the result of a delivery to a webhook, or of an attempt to send a notification.
func (m *metrics) hooked(what, result string) {
	if c := m.hooks[what]; c != nil {
		c.WithLabelValues(result).Inc()
	}
}

// methods are the methods that have their own label value.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete, http.MethodOptions}

// answered counts a response.
func (m *metrics) answered(route, method string, status int, took time.Duration, stream bool) {
	if _, path, ok := strings.Cut(route, " "); ok {
		route = path
	}
	if route == "" {
		route = "none"
	}
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	if !stream {
		m.took.WithLabelValues(route, method).Observe(took.Seconds())
	}
}

// runMetrics collects the counts of runs, calls, tokens and costs from the services of one
// namespace or, if it is "", of all: the telemetry metrics, with the namespace as a label.
type runMetrics struct {
	*Server
	namespace string
}

// Describe implements prometheus.Collector. It sends nothing: which metrics there are depends on
// what ran.
func (runMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c runMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	names := []string{c.namespace}
	if c.namespace == "" {
		var err error
		if names, err = c.namespaces.Names(ctx); err != nil {
			c.log.Warn("cannot count namespaces", "err", err)
		}
	}
	c.collectCalls(ctx, names, out)
	for _, name := range names {
		svc := c.namespaces.IfOpen(ctx, name)
		if svc == nil {
			continue // nothing happens in it, or the namespace opener logs why it cannot be opened
		}
		c.collectStore(ctx, name, svc, out)
		for _, m := range svc.Metrics(ctx) {
			labels := labelsOf(m)
			for _, p := range m.Points {
				out <- constMetric(m, p, labels, name)
			}
		}
	}
}

// labelsOf returns the keys of all points of a metric, so that each point has the same labels.
func labelsOf(m telemetry.Metric) []string {
	var keys []string
	for _, p := range m.Points {
		for _, a := range p.Attrs {
			if !slices.Contains(keys, a.Key) {
				keys = append(keys, a.Key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// plain returns a name in Prometheus form.
func plain(name string) string { return strings.ReplaceAll(name, ".", "_") }

// constMetric returns one point in Prometheus form, under the name that OpenTelemetry's own
// exporter would use.
func constMetric(m telemetry.Metric, p telemetry.Point, keys []string, namespace string) prometheus.Metric {
	name := plain(m.Name)
	switch m.Unit {
	case "s":
		name += "_seconds"
	case "USD":
		name += "_usd"
	}
	labels, values := []string{"namespace"}, []string{namespace}
	for _, k := range keys {
		value := ""
		for _, a := range p.Attrs {
			if a.Key == k {
				value = strings.ToValidUTF8(fmt.Sprint(a.Value), "\uFFFD")
			}
		}
		labels, values = append(labels, plain(k)), append(values, value)
	}
	var (
		made prometheus.Metric
		err  error
	)
	switch m.Kind {
	case telemetry.KindHistogram:
		buckets := make(map[float64]uint64, len(m.Bounds))
		sum := uint64(0)
		for i, bound := range m.Bounds {
			sum += p.Buckets[i]
			buckets[bound] = sum
		}
		made, err = prometheus.NewConstHistogram(prometheus.NewDesc(name, m.Description, labels, nil), p.Count, p.Sum,
			buckets, values...)
	case telemetry.KindCounter:
		made, err = prometheus.NewConstMetric(prometheus.NewDesc(name+"_total", m.Description, labels, nil),
			prometheus.CounterValue, float64(p.Value), values...)
	default:
		made, err = prometheus.NewConstMetric(prometheus.NewDesc(name, m.Description, labels, nil),
			prometheus.GaugeValue, float64(p.Value), values...)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(prometheus.NewDesc(name, m.Description, nil, nil), err)
	}
	return made
}
