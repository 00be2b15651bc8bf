package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/telemetry"
)

// defaultTimeout is the default of the specification.
const defaultTimeout = 10 * time.Second

// maxAnswer is the maximum number of bytes read from a response.
const maxAnswer = 64 << 10

// Exporter posts spans and metrics. It must be used by one goroutine at a time, as
// telemetry.Exporter specifies.
type Exporter struct {
	cfg    Config
	client *http.Client
}

var _ telemetry.Exporter = (*Exporter)(nil)

// New returns an exporter. It opens no connection before there is something to send.
func New(cfg Config) *Exporter {
	cfg.Service = cmp.Or(cfg.Service, "hocket")
	return &Exporter{cfg: cfg}
}

// Telemetry returns the configuration of an observer that sends through this exporter.
func (e *Exporter) Telemetry() telemetry.Config {
	return telemetry.Config{Exporter: e, Content: e.cfg.Content, Ratio: e.cfg.Ratio, IgnoreCaller: e.cfg.IgnoreCaller,
		Latest: e.cfg.Latest, NoSpans: e.cfg.Traces.URL == "", Delay: e.cfg.Delay, Interval: e.cfg.Interval}
}

// Spans implements telemetry.Exporter.
func (e *Exporter) Spans(ctx context.Context, spans []telemetry.Span) error {
	if e.cfg.Traces.URL == "" {
		return nil
	}
	return e.post(ctx, &e.cfg.Traces, e.cfg.encodeSpans(spans))
}

// Metrics implements telemetry.Exporter.
func (e *Exporter) Metrics(ctx context.Context, metrics []telemetry.Metric) error {
	if e.cfg.Metrics.URL == "" || len(metrics) == 0 {
		return nil
	}
	return e.post(ctx, &e.cfg.Metrics, e.cfg.encodeMetrics(metrics))
}

// Close implements telemetry.Exporter.
func (e *Exporter) Close() {
	if e.client != nil {
		e.client.CloseIdleConnections()
	}
}

// errTryAgain marks responses after which the same body may be sent again.
var errTryAgain = errors.New("the collector is temporarily unavailable")

// post sends one body, and retries if the collector asks for it, until the target's timeout
// expires.
func (e *Exporter) post(ctx context.Context, t *Target, body []byte) error {
	if e.client == nil {
		e.client = outbound.New(outbound.Config{Allow: []string{e.cfg.Traces.URL, e.cfg.Metrics.URL}})
	}
	if t.Gzip {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(body)
		if err = errors.Join(err, z.Close()); err != nil {
			return fmt.Errorf("compress telemetry: %w", err)
		}
		body = b.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.Timeout, defaultTimeout))
	defer cancel()
	for pause := 500 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		after, err := e.postOnce(ctx, t, body)
		if err == nil || !errors.Is(err, errTryAgain) {
			return err
		}
		timer := time.NewTimer(max(pause, after))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// postOnce sends a body once. after is the delay that the collector requests.
func (e *Exporter) postOnce(ctx context.Context, t *Target, body []byte) (after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("export telemetry: %w", err)
	}
	for k, v := range t.Headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "hocket/"+cmp.Or(e.cfg.Version, "dev"))
	if t.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("export telemetry: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusBadGateway,
		resp.StatusCode == http.StatusServiceUnavailable, resp.StatusCode == http.StatusGatewayTimeout:
		after = min(outbound.RetryAfter(resp.Header, time.Now()), time.Minute)
		return after, fmt.Errorf("export telemetry to %s: %s: %w", req.URL.Host, resp.Status, errTryAgain)
	case resp.StatusCode/100 != 2:
		return 0, fmt.Errorf("export telemetry to %s: %s", req.URL.Host, resp.Status)
	case err != nil:
		return 0, nil // it was accepted; the collector's message about it is lost
	}
	if n, message := partialSuccess(answer); n > 0 {
		return 0, fmt.Errorf("export telemetry to %s: %d entries rejected: %s", req.URL.Host, n, message)
	}
	return 0, nil
}

// partialSuccess decodes the partial success of a response; an unknown form is ignored.
func partialSuccess(answer []byte) (n uint64, message string) {
	partial, _ := field(answer, 1)
	message = string(first(field(partial, 2)))
	_, n = field(partial, 1)
	return n, message
}

func first(b []byte, _ uint64) []byte { return b }

// field returns a field of a message: its bytes, or its number.
func field(b []byte, wanted protowire.Number) (value []byte, n uint64) {
	for len(b) > 0 {
		num, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			return nil, 0
		}
		b = b[size:]
		length := protowire.ConsumeFieldValue(num, typ, b)
		if length < 0 {
			return nil, 0
		}
		if num == wanted {
			switch typ {
			case protowire.BytesType:
				value, _ = protowire.ConsumeBytes(b)
			case protowire.VarintType:
				n, _ = protowire.ConsumeVarint(b)
			}
			return value, n
		}
		b = b[length:]
	}
	return nil, 0
}
