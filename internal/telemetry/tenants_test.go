package telemetry_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/telemetry"
)

// recorder stores what it receives, and fails the test if it is called concurrently.
type recorder struct {
	t      *testing.T
	busy   sync.Mutex
	seen   []string
	closed int
	// entered, if not nil, is closed when Spans starts, which then waits until holding is closed.
	entered, holding chan struct{}
}

func (k *recorder) enter(attrs []telemetry.Attr) {
	k.seen = append(k.seen, attrs[len(attrs)-1].Value.(string))
}

func (k *recorder) Spans(_ context.Context, spans []telemetry.Span) error {
	if !k.busy.TryLock() {
		k.t.Error("two exports at once")
		return nil
	}
	defer k.busy.Unlock()
	if k.entered != nil {
		close(k.entered)
		<-k.holding
	}
	k.enter(spans[0].Attrs)
	return nil
}

func (k *recorder) Metrics(_ context.Context, m []telemetry.Metric) error {
	if !k.busy.TryLock() {
		k.t.Error("two exports at once")
		return nil
	}
	defer k.busy.Unlock()
	k.enter(m[0].Points[0].Attrs)
	return nil
}

func (k *recorder) Close() { k.closed++ }

// TestTenants checks that observers of several namespaces take turns to send through one exporter,
// each under its own name, and do not modify what they were passed.
func TestTenants(t *testing.T) {
	t.Parallel()
	k := &recorder{t: t}
	among := telemetry.Among(k)
	spans := []telemetry.Span{{Attrs: append(make([]telemetry.Attr, 0, 9), telemetry.Attr{Key: "k", Value: "v"})}}
	metrics := []telemetry.Metric{{Points: []telemetry.Point{{Attrs: spans[0].Attrs}}}}
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		own := among.Of(name)
		wg.Go(func() {
			if err := errors.Join(own.Spans(t.Context(), spans), own.Metrics(t.Context(), metrics)); err != nil {
				t.Error(err)
			}
			own.Close()
		})
	}
	wg.Wait()
	slices.Sort(k.seen)
	if !slices.Equal(k.seen, []string{"a", "a", "b", "b", "c", "c"}) || k.closed != 0 {
		t.Errorf("%v, closed %d times", k.seen, k.closed)
	}
	if len(spans[0].Attrs) != 1 || len(metrics[0].Points[0].Attrs) != 1 || spans[0].Attrs[:2][1] != (telemetry.Attr{}) {
		t.Errorf("changed: %v", spans[0].Attrs[:2])
	}
	k.entered, k.holding = make(chan struct{}), make(chan struct{})
	wg.Go(func() {
		if err := among.Of("a").Spans(t.Context(), spans); err != nil {
			t.Error(err)
		}
	})
	<-k.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := among.Of("b").Metrics(ctx, metrics); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait longer than allowed: %v", err)
	}
	close(k.holding)
	wg.Wait()
	if among.Close(); k.closed != 1 {
		t.Errorf("closed %d times", k.closed)
	}
}
