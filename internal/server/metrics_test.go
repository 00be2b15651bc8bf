package server_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// TestMetrics checks that requests are counted by pattern, whatever strangers request, and that
// metrics require a token unless the operator makes them public.
func TestMetrics(t *testing.T) {
	t.Parallel()
	anonymous := func(r *http.Request) { r.Header.Del("Authorization") }
	w := open(t,
		server.Config{Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(t.TempDir(), "hocket.db")}})
	w.ask(t, "POST", "/hooks/nowhere", "{}", anonymous)
	for i := range 50 {
		w.ask(t, "POST", fmt.Sprintf("/test/change/%d", i), "", nil)
		w.ask(t, "GET", fmt.Sprintf("/no/path-%d", i), "", anonymous)
		w.ask(t, fmt.Sprintf("M%d", i), "/test/who", "", nil)
	}
	if rec := w.ask(t, "GET", "/metrics", "", anonymous); rec.Code != 401 ||
		strings.Contains(rec.Body.String(), "hocket_http") {
		t.Errorf("without a token: %d %s", rec.Code, rec.Body)
	}
	text := w.ask(t, "GET", "/metrics", "", nil).Body.String()
	for _, want := range []string{
		`hocket_http_requests_total{method="POST",route="/test/change/{id}",status="204"} 50`,
		`hocket_http_requests_total{method="GET",route="none",status="401"} 50`,
		`hocket_http_requests_total{method="other",route="/test/",status="405"} 50`,
		`hocket_http_request_duration_seconds_count{method="POST",route="/test/change/{id}"} 50`,
		`hocket_calls_active 0`, `hocket_calls_waiting{for="slot"} 0`, `hocket_calls_waiting{for="rate"} 0`,
		`hocket_notifications{namespace="default",state="pending"} 0`,
		`hocket_notifications{namespace="default",state="dead"} 0`,
		`hocket_webhook_deliveries_total{result="not_found"} 1`,
		`hocket_store_size_bytes{file="main",namespace="default"} `,
		`hocket_store_size_bytes{file="wal",namespace="default"} `,
		`hocket_http_event_streams_active 0`, `hocket_http_requests_active 1`,
		`hocket_run_active{namespace="default"} 0`, `hocket_run_waiting{namespace="default"} 0`,
		`go_goroutines `, `process_start_time_seconds `, `hocket_build_info{version=`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	var routes []string
	for _, m := range regexp.MustCompile(`hocket_http_requests_total\{[^}]*route="([^"]*)"`).FindAllStringSubmatch(text,
		-1) {
		if !slices.Contains(routes, m[1]) {
			routes = append(routes, m[1])
		}
	}
	if len(routes) > 5 {
		t.Errorf("strangers make labels: %q", routes)
	}
	public := open(t, server.Config{Metrics: config.MetricsPublic})
	if rec := public.ask(t, "GET", "/metrics", "", anonymous); rec.Code != 200 {
		t.Errorf("public metrics: %d", rec.Code)
	}
	if rec := public.ask(t, "GET", "/metrics", "", func(r *http.Request) { r.Host = "evil.example" }); rec.Code != 403 {
		t.Errorf("public metrics from a foreign page: %d", rec.Code)
	}
}
