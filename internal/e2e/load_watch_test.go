//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// watch follows a run over SSE to its end, and returns what went wrong, such as missing or
// duplicate events, or "" if nothing did.
func (l *load) watch(ctx context.Context, t *testing.T, id string) string {
	last := 0
	for ctx.Err() == nil {
		ended, bad := l.listen(ctx, id, &last)
		if bad != "" {
			return bad
		}
		if ended {
			return ""
		}
		pause(ctx)
	}
	return fmt.Sprintf("run %s did not end; event %d was the last", id, last)
}

// listen reads one stream until it ends for any reason.
func (l *load) listen(ctx context.Context, id string, last *int) (ended bool, bad string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, *l.url.Load()+"/api/v1/runs/"+id+"/events", http.NoBody)
	if err != nil {
		return false, err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Accept", "text/event-stream")
	if *last > 0 {
		req.Header.Set("Last-Event-ID", strconv.Itoa(*last))
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, ""
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNoContent:
		return true, ""
	case http.StatusServiceUnavailable:
		return false, ""
	case http.StatusOK:
	default:
		data, _ := io.ReadAll(resp.Body)
		return false, fmt.Sprintf("%d %s", resp.StatusCode, data)
	}
	return readStream(resp.Body, last)
}

// readStream reads events as they arrive. A stream may break anywhere.
func readStream(r io.Reader, last *int) (ended bool, bad string) {
	data, _ := io.ReadAll(r) // data before the break counts
	blocks := strings.SplitAfter(string(data), "\n\n")
	for _, b := range blocks {
		if !strings.HasSuffix(b, "\n\n") {
			break // cut in the middle
		}
		kind, number := "", 0
		for line := range strings.Lines(b) {
			name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
			switch value = strings.TrimPrefix(value, " "); name {
			case "event":
				kind = value
			case "id":
				n, err := strconv.Atoi(value)
				if err != nil {
					return false, "id " + value
				}
				number = n
			}
		}
		switch {
		case kind == "end":
			return true, ""
		case number > 0 && number != *last+1:
			return false, fmt.Sprintf("event %d came after %d", number, *last)
		case number > 0:
			*last = number
		}
	}
	return false, ""
}
