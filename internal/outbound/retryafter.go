package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what RetryAfter gives, so that sums with it stay times.
const maxRetryAfter = 365 * 24 * time.Hour

// RetryAfter reads how long a server asks to wait, from Retry-After-Ms (milliseconds) and Retry-After (seconds, fractions of them too, or an HTTP date), counted from now. What lies in the past, is
// negative or cannot be read is 0; more than a year is a year. What of it is waited for is the caller's to say.
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

// number reads a count of units; 0 for what is none.
func number(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !(n > 0) { // NaN too
		return 0
	}
	if err != nil || n >= float64(maxRetryAfter)/float64(unit) { // also where it is beyond what a float holds
		return maxRetryAfter
	}
	return time.Duration(n * float64(unit))
}
