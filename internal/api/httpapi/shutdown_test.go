package httpapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
)

// blockedModel is a model that does not reply until the test releases it.
type blockedModel struct{ asked, may chan struct{} }

func (h blockedModel) Call(ctx context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	close(h.asked)
	select {
	case <-h.may:
		return echoModel{}.Call(ctx, q, nil)
	case <-ctx.Done():
		return model.Reply{}, ctx.Err()
	}
}

// TestWait_ServerShutdown checks that a server that shuts down sends the status of the run to
// clients that wait for it, so that the id of the started run is not lost with the connection.
func TestWait_ServerShutdown(t *testing.T) {
	t.Parallel()
	h := blockedModel{make(chan struct{}), make(chan struct{})}
	w := newWorldWith(t, service.Memory, h)
	defer close(h.may)
	closing := make(chan struct{})
	go func() {
		<-h.asked
		close(closing)
	}()
	ctx := transport.WithRequest(transport.With(t.Context(),
		&transport.Caller{Principal: w.caller, Service: w.service}), &transport.Request{Closing: closing})
	w.do("PUT", "/api/v1/workflows/poem", m{"document": poem}).is(200)
	r := httptest.NewRequestWithContext(ctx, "POST", httpapi.Prefix+"/runs?wait=1m",
		strings.NewReader(`{"workflow": "poem"}`))
	r.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	if run := (answer{t, rec.Code, rec.Header(), rec.Body.String()}).is(201).run(); run.ID == "" ||
		run.Status != "running" {
		t.Errorf("%s", rec.Body)
	}
}
