package schedule_test

import (
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/schedule"
)

// oracle finds planned times by checking the wall clock of a zone minute by minute. All that it
// takes from time.Time is what the clock shows at an instant. It is for zones and times at which
// clocks change on whole minutes.
func oracle(t *testing.T, s schedule.Schedule, loc *time.Location, after time.Time, count int) []time.Time {
	t.Helper()
	if s.Kind == schedule.KindEvery {
		var out []time.Time
		for at := after.Add(s.Every); len(out) < count; at = at.Add(s.Every) {
			out = append(out, at)
		}
		return out
	}
	var (
		out  []time.Time
		day  time.Time // the local day on the wall clock, as its midnight in UTC
		done bool      // the day has fired, or does not have to
	)
	listed := func(d time.Time) bool { return s.Kind == schedule.KindDaily || s.Days[d.Weekday()] }
	fire := func(at time.Time) {
		if at.After(after) {
			out = append(out, at)
		}
		done = true
	}
	at := after.Truncate(time.Minute).Add(-72 * time.Hour)
	for end := after.AddDate(0, 0, 7*(count+3)); len(out) < count; at = at.Add(time.Minute) {
		if at.After(end) {
			t.Fatalf("the oracle finds only %d times", len(out))
		}
		wall := at.In(loc)
		today := time.Date(wall.Year(), wall.Month(), wall.Day(), 0, 0, 0, 0, time.UTC)
		switch {
		case today.After(day):
			if !day.IsZero() && !done {
				fire(at) // the clock skipped the time and midnight
			}
			first := day.IsZero()
			day, done = today, !listed(today) || first
		case today.Before(day):
			continue // the clock was set back over midnight: that day is done
		}
		if !done && wall.Hour()*60+wall.Minute() >= s.Hour*60+s.Minute {
			fire(at)
		}
	}
	return out[:count]
}
