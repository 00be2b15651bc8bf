package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hocket-run/hocket/internal/service"
)

// Descriptions of metrics that are looked up at scrape time.
var (
	callsActive = prometheus.NewDesc("hocket_calls_active",
		"Calls of models, tools and functions in progress (limits: {maxCalls: ...})", nil, nil)
	callsWaiting = prometheus.NewDesc("hocket_calls_waiting",
		"Calls that wait for a free slot, or for the rate limit of their provider", []string{"for"}, nil)
	notifications = prometheus.NewDesc("hocket_notifications", "Notifications to be sent (pending) or abandoned (dead)",
		[]string{"namespace", "state"}, nil)
	storeSize = prometheus.NewDesc("hocket_store_size_bytes",
		"Size of a namespace's store, and of its write-ahead log", []string{"namespace", "file"}, nil)
)

func gauge(out chan<- prometheus.Metric, d *prometheus.Desc, n int64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
}

// collectCalls collects the calls of the process: all namespaces share its slots and rate limits.
func (c runMetrics) collectCalls(ctx context.Context, names []string, out chan<- prometheus.Metric) {
	for _, name := range names {
		svc := c.namespaces.IfOpen(ctx, name)
		if svc == nil {
			continue // another namespace reports the same
		}
		active, slot, rate := svc.Calls()
		gauge(out, callsActive, int64(active))
		gauge(out, callsWaiting, int64(slot), "slot")
		gauge(out, callsWaiting, int64(rate), "rate")
		return
	}
}

// collectStore collects the contents of the store of a namespace.
func (c runMetrics) collectStore(ctx context.Context, name string, svc *service.Service, out chan<- prometheus.Metric) {
	pending, dead, err := c.hooks.Backlog(ctx, name, svc)
	if err != nil {
		c.log.Warn("cannot count notifications", "namespace", name, "err", err)
	} else {
		gauge(out, notifications, int64(pending), name, "pending")
		gauge(out, notifications, int64(dead), name, "dead")
	}
	for _, size := range svc.Home().Sizes() {
		gauge(out, storeSize, size.Bytes, name, size.Part)
	}
}
