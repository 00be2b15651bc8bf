package server

import (
	"context"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/telemetry"
)

// AddMount adds a transport to the existing ones.
func (s *Server) AddMount(d Mount) error { return s.mount(append(s.table, d)) }

// Swap replaces ports.
func (s *Server) Swap(t Tokens, a transport.Audit, k Tickets) {
	if t != nil {
		s.tokens = t
	}
	if a != nil {
		s.audit = a
	}
	if k != nil {
		s.tickets = k
	}
}

// Bound wraps a listener with bounded.
func Bound(ln net.Listener, n int) net.Listener { return bound(ln, n) }

// Store returns the store of tokens and the audit log.
func (s *Server) Store() store.Access { return s.access }

// Service returns the service of a namespace.
func (s *Server) Service(ctx context.Context, name string) (*service.Service, error) {
	return s.namespaces.Service(ctx, name)
}

// Flight returns the current and the peak number of bytes in flight.
func (s *Server) Flight() (now, peak int64) { return s.flight.InUse() }

// BodyWeight exports bodyWeight.
const BodyWeight = bodyWeight

// Validated calls Validate after the defaults are applied.
func (c Config) Validated() error { return c.withDefaults().Validate() }

// Tickets returns the tickets of the API.
func (s *Server) Tickets() *access.Tickets {
	t, _ := s.tickets.(*access.Tickets)
	return t
}

// ClientOf returns the address of a request's client as seen by a server with the given trusted
// proxies.
func ClientOf(trusted []string, r *http.Request) (string, error) {
	p, err := parseProxies(trusted)
	return p.client(r).String(), err
}

// WhyNotWritable returns what strangers learn if the store cannot be written for a reason.
func WhyNotWritable(cause error) string { return whyNotReady(&notWritableError{cause}) }

// IdleFor returns how long a namespace has no work.
func (s *Server) IdleFor(ctx context.Context, name string, svc *service.Service) time.Duration {
	return time.Until(s.idleUntil(ctx, name, svc))
}

// MetricLabels returns the labels of each metric of a server, apart from those of the Go runtime and
// the process.
func MetricLabels() map[string][]string {
	meter := telemetry.NewMeter(time.Unix(0, 0), false)
	meter.Began("w", "steps")
	for _, what := range []telemetry.What{telemetry.WhatRun, telemetry.WhatStep, telemetry.WhatAgent,
		telemetry.WhatTool, telemetry.WhatModel} {
		s := telemetry.Span{What: what}
		for _, key := range []string{telemetry.WorkflowLabel, telemetry.WorkflowName, telemetry.Format,
			telemetry.Status, telemetry.ErrorType, telemetry.NodeType, telemetry.AgentName, telemetry.ToolName,
			telemetry.ToolType, telemetry.OperationName, telemetry.ProviderName, telemetry.RequestModel,
			telemetry.ResponseModel, telemetry.ServerAddress, telemetry.ServerPort} {
			s.Attrs = append(s.Attrs, telemetry.Attr{Key: key, Value: "x"})
		}
		s.Attrs = append(s.Attrs, telemetry.Attr{Key: telemetry.CostUSD, Value: 1.0},
			telemetry.Attr{Key: telemetry.FirstChunk, Value: 1.0},
			telemetry.Attr{Key: telemetry.InputTokens, Value: int64(1)})
		meter.Count(&s)
	}
	all := append(meter.Collect(time.Unix(1, 0)),
		telemetry.Metric{Name: telemetry.MetricActive, Kind: telemetry.KindLevel, Points: make([]telemetry.Point, 1)},
		telemetry.Metric{Name: telemetry.MetricWaiting, Kind: telemetry.KindLevel, Points: make([]telemetry.Point, 1)})
	descs := make(chan *prometheus.Desc, 1000)
	newMetrics("v", inflight.New(inflight.Config{})).registry.Describe(descs)
	for _, d := range []*prometheus.Desc{callsActive, callsWaiting, notifications, storeSize} {
		descs <- d
	}
	for _, m := range all {
		descs <- constMetric(m, m.Points[0], labelsOf(m), "n").Desc()
	}
	close(descs)
	parts := regexp.MustCompile(`fqName: "(hocket_[a-z_]+|gen_ai_[a-z_]+)".*variableLabels: \{([^}]*)\}`)
	out := map[string][]string{}
	for d := range descs {
		if m := parts.FindStringSubmatch(d.String()); m != nil {
			out[m[1]] = append([]string{}, strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })...)
		}
	}
	return out
}
