package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the maximum result of RetryAfter, so that adding it to a time does not overflow.
const maxRetryAfter = 365 * 24 * time.Hour

// RetryAfter returns how long a server asks to wait, from Retry-After-Ms (milliseconds) and
// Retry-After (seconds, including fractions, or an HTTP date), counted from now. Values that are in
// the past, negative or unreadable yield 0; more than a year yields a year. The caller decides how
// much of it to wait.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if wait := number(h.Get("Retry-After-Ms"), time.Millisecond); wait > 0 {
		return wait
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if wait := number(v, time.Second); wait > 0 {
		return wait
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return min(at.Sub(now), maxRetryAfter)
	}
	return 0
}

// number parses a count of units; it returns 0 if text is not a number.
func number(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !(n > 0) { // NaN too
		return 0
	}
	if err != nil || n >= float64(maxRetryAfter)/float64(unit) { // also if it exceeds the range of a float
		return maxRetryAfter
	}
	return time.Duration(n * float64(unit))
}
