package telemetry

import (
	"context"
	"slices"
)

// Tenants lets several observers of one process, one per namespace, share one exporter.
type Tenants struct {
	exporter Exporter
	// turn is held by the sender: an exporter is called by one goroutine at a time.
	turn chan struct{}
}

// Among returns Tenants for an exporter, which nothing else may use.
func Among(e Exporter) *Tenants { return &Tenants{e, make(chan struct{}, 1)} }

// Of returns the exporter for the observer of a namespace: spans and metrics get the attribute
// hocket.namespace. Its Close does nothing.
func (t *Tenants) Of(namespace string) Exporter { return &tenant{t, Attr{Namespace, namespace}} }

// Close closes the exporter. All observers must be closed first.
func (t *Tenants) Close() { t.exporter.Close() }

// send calls do when it is the caller's turn, unless ctx is done first.
func (t *Tenants) send(ctx context.Context, do func() error) error {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

type tenant struct {
	*Tenants
	attr Attr
}

// Spans implements Exporter.
func (t *tenant) Spans(ctx context.Context, spans []Span) error {
	own := slices.Clone(spans)
	for i := range own {
		own[i].Attrs = append(slices.Clip(own[i].Attrs), t.attr)
	}
	return t.send(ctx, func() error { return t.exporter.Spans(ctx, own) })
}

// Metrics implements Exporter.
func (t *tenant) Metrics(ctx context.Context, metrics []Metric) error {
	own := slices.Clone(metrics)
	for i := range own {
		own[i].Points = slices.Clone(own[i].Points)
		for j := range own[i].Points {
			own[i].Points[j].Attrs = append(slices.Clip(own[i].Points[j].Attrs), t.attr)
		}
	}
	return t.send(ctx, func() error { return t.exporter.Metrics(ctx, own) })
}

// Close implements Exporter.
func (t *tenant) Close() {}
