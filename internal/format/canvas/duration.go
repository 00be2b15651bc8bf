package canvas

import (
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// maxDuration bounds durations: more is a slip of the pen.
const maxDuration = 10 * 365 * 24 * time.Hour

// duration reads the text under a key of an approval: 90s, 1h30m, 2d. Absent is 0.
func (r *reader) duration(data *source.Fields, key string) workflow.Duration {
	text := data.Text(key)
	if text == "" {
		return 0
	}
	d, ok := parseDuration(text)
	if !ok || d <= 0 || d > maxDuration {
		at := data.Get(key)
		r.diags.Errorf(at.Span, at.Path(), codeBadValue, "invalid duration %q", text).Hint = "write a time such as 90s, 1h30m or 2d, 3650d at most"
		return 0
	}
	return workflow.Duration(d)
}

// parseDuration is time.ParseDuration that knows days.
func parseDuration(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// durationText is what duration reads as d; "" for none.
func durationText(d workflow.Duration) string {
	if d <= 0 {
		return ""
	}
	return time.Duration(d).String()
}
