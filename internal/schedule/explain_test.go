package schedule_test

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/schedule"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ spec, zone, after, want string }{
		{"daily@02:30", "America/New_York", "2026-03-07T12:00:00Z",
			"02:30 does not exist on that day, this is the first instant after it"},
		{"daily@02:00", "America/New_York", "2026-03-07T12:00:00Z",
			"02:00 does not exist on that day, this is the first instant after it"},
		{"daily@03:00", "America/New_York", "2026-03-07T12:00:00Z", ""},
		{"daily@01:00", "America/New_York", "2026-10-31T12:00:00Z",
			"01:00 occurs twice on that day, this is the first"},
		{"daily@01:59", "America/New_York", "2026-10-31T12:00:00Z",
			"01:59 occurs twice on that day, this is the first"},
		{"daily@00:59", "America/New_York", "2026-10-31T12:00:00Z", ""},
		{"daily@02:00", "America/New_York", "2026-10-31T12:00:00Z", ""},
		{"weekly@0", "America/Havana", "2026-03-07T12:00:00Z",
			"00:00 does not exist on that day, this is the first instant after it"},
		{"weekly@0", "America/Havana", "2026-10-31T12:00:00Z", "00:00 occurs twice on that day, this is the first"},
		{"daily@23:30", "America/Nuuk", "2024-03-30T12:00:00Z",
			"23:30 does not exist on that day, this is the first instant after it"},
		{"daily@09:00", "UTC", "2026-03-07T12:00:00Z", ""},
		{"60", "America/New_York", "2026-03-08T06:59:59Z", ""},
	} {
		s, loc := parse(t, c.spec), zone(t, c.zone)
		at := s.Next(instant(t, c.after), loc)
		if got := s.Explain(at, loc); got != c.want {
			t.Errorf("%s in %s at %s: %q, want %q", c.spec, c.zone, at, got, c.want)
		}
	}
	if got := parse(t, "daily@12:00").Explain(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), nil); got != "" {
		t.Errorf("without a zone: %q", got)
	}
	if got := (schedule.Schedule{}).Explain(time.Now(), nil); got != "" {
		t.Errorf("never: %q", got)
	}
}
