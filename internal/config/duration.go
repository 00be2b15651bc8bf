package config

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// maxDuration is the maximum duration: a longer one is a typo.
const maxDuration = 10 * 365 * 24 * time.Hour

// durationForm is the pattern of durations, in the reader and in the schema.
const durationForm = `^([0-9]{1,7}(\.[0-9]{1,6})?(ms|s|m|h|d))+$`

var (
	durationText = regexp.MustCompile(durationForm)
	durationPart = regexp.MustCompile(`([0-9.]+)(ms|s|m|h|d)`)
)

// parseDuration parses 90s, 1h30m, 1.5h and 30d.
func parseDuration(text string) (time.Duration, error) {
	if !durationText.MatchString(text) {
		return 0, fmt.Errorf("%q is not a duration", text)
	}
	units := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
		"d": 24 * time.Hour}
	var sum float64
	for _, p := range durationPart.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(p[1], 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration: %w", text, err)
		}
		sum += n * float64(units[p[2]])
	}
	if sum <= 0 || sum > float64(maxDuration) {
		return 0, fmt.Errorf("%q must be above 0 and at most %d days", text, maxDuration/(24*time.Hour))
	}
	return time.Duration(sum), nil
}
