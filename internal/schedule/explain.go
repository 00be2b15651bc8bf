package schedule

import (
	"fmt"
	"time"
)

// Explain tells people what is unusual about a calendar schedule's planned time: that the clock
// skips the time or shows it twice. It returns "" if nothing is unusual.
func (s Schedule) Explain(at time.Time, loc *time.Location) string {
	if s.Kind != KindDaily && s.Kind != KindWeekly {
		return ""
	}
	if loc == nil {
		loc = time.UTC
	}
	local := at.In(loc)
	if local.Hour() != s.Hour || local.Minute() != s.Minute || local.Second() != 0 {
		return fmt.Sprintf("%02d:%02d does not exist on that day, this is the first instant after it", s.Hour, s.Minute)
	}
	_, end := local.ZoneBounds()
	if end.IsZero() {
		return ""
	}
	_, now := local.Zone()
	_, then := end.In(loc).Zone()
	if back := time.Duration(now-then) * time.Second; back > 0 && !at.Add(back).Before(end) &&
		at.Add(back).Before(end.Add(back)) {
		return fmt.Sprintf("%02d:%02d occurs twice on that day, this is the first", s.Hour, s.Minute)
	}
	return ""
}
