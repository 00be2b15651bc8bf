package outbound_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/outbound"
)

// TestRetryAfter checks P14: one reader for seconds, fractions, milliseconds and dates.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	const year = 365 * 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "0.5": time.Second / 2, "86400": 24 * time.Hour, "-5": 0,
		"0": 0, "NaN": 0, "Inf": year, "-Inf": 0, "1e400": year, "1e12": year,
		"soon": 0, "Sun, 22 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sunday, 22-Nov-26 12:01:00 GMT": time.Minute,
		"Sun, 22 Nov 2020 12:00:30 GMT": 0,
		"Sun, 22 Nov 2099 12:00:30 GMT": year,
	} {
		if got := outbound.RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	if got := outbound.RetryAfter(http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"9"}}, now); got != 1500*
		time.Millisecond {
		t.Errorf("milliseconds: %s", got)
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("86400")
	f.Add("Sun, 22 Nov 2026 12:00:30 GMT")
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"Retry-After", "Retry-After-Ms"} {
			if d := outbound.RetryAfter(http.Header{name: {text}}, time.Unix(1_700_000_000, 0)); d < 0 ||
				d > 366*24*time.Hour {
				t.Errorf("%q is %s", text, d)
			}
		}
	})
}
