package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/outbound"
)

// maxReason is the maximum length of the kept part of an endpoint's error response.
const maxReason = 300

func (h *Hooks) post(ctx context.Context, e *Endpoint, header http.Header, body []byte) (
	became State, wait time.Duration, err error) {
	client := h.cfg.Guarded
	if e.Operator {
		client = h.cfg.Operator
	}
	if client == nil {
		return StateDead, 0, errors.New("this process sends no notifications")
	}
	once := *client
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Pace.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return StateDead, 0, err
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "hocket")
	resp, err := once.Do(req)
	if err != nil {
		if errors.Is(err, outbound.ErrRefused) {
			return StateDead, 0, err
		}
		return StatePending, 0, err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return StateDelivered, 0, nil
	case resp.StatusCode == http.StatusGone:
		return StateDead, 0, errors.New("the endpoint answered 410 Gone")
	}
	return StatePending, min(outbound.RetryAfter(resp.Header, time.Now()), maxRetryAfter),
		fmt.Errorf("the endpoint answered %s: %s", resp.Status, oneLine(string(text)))
}

// maxRetryAfter is the maximum delay that an endpoint may request.
const maxRetryAfter = 6 * time.Hour

// oneLine returns a server's message on one line, without characters that are unsafe for a
// terminal.
func oneLine(text string) string {
	var b strings.Builder
	for _, p := range pieces(strings.ToValidUTF8(text, "")) {
		b.WriteString(strings.NewReplacer("\n", " ", "\t", " ").Replace(p.Text))
	}
	return b.String()
}
