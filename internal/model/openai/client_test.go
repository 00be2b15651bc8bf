package openai_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/model/openai"
	"github.com/hocket-run/hocket/internal/outbound"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func newClient(t *testing.T, srv *modeltest.Server, key string, own bool) *openai.Client {
	t.Helper()
	http := outbound.New(outbound.Config{Allow: []string{srv.URL()}})
	t.Cleanup(http.CloseIdleConnections)
	c, err := openai.New(openai.Config{BaseURL: srv.BaseURL(), Key: key, Own: own, HTTP: http})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	srv := modeltest.Start(t, modeltest.Conformance)
	modeltest.Run(t, modeltest.Harness{
		Client: newClient(t, srv, modeltest.Canary, true), Model: "test-model", SearchModel: "gpt-4o-search-preview",
	})
}
