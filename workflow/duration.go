package workflow

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is encoded in JSON as a string such as "1m30s".
type Duration time.Duration

// MaxDuration is the longest duration that people may write: ten years.
const MaxDuration = Duration(3650 * 24 * time.Hour)

// ParseDuration parses a duration as people write it: `90s`, `1h30m`, `2d`, or a whole number of
// seconds. It must be above zero and at most MaxDuration.
func ParseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	} else if n, e := strconv.ParseUint(text, 10, 32); e == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d <= 0 || Duration(d) > MaxDuration {
		return 0, fmt.Errorf("%q is not a time such as 90s, 1h30m or 2d, 3650d at most", text)
	}
	return Duration(d), nil
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}
