package schedule

import "time"

// searchDays is the number of local days searched for the next fire time: two weeks for a weekly
// day that does not exist, plus a margin.
const searchDays = 32

// Next returns the first planned time strictly after after, in loc; nil means UTC. Intervals and
// continuous delays count from after. The zero time means never: a one_time schedule, or a calendar
// time beyond the range of time.Time.
func (s Schedule) Next(after time.Time, loc *time.Location) time.Time {
	return s.NextFrom(after, after, loc)
}

// NextFrom is Next for a schedule with its own registration time: an interval fires at registered +
// n periods, with n from 1 (S1-37, S1-38), and never before. A calendar depends only on its zone,
// and a delay counts from after.
func (s Schedule) NextFrom(registered, after time.Time, loc *time.Location) time.Time {
	if loc == nil {
		loc = time.UTC
	}
	switch s.Kind {
	case KindEvery:
		return s.nextTick(registered, after).In(loc)
	case KindDaily, KindWeekly:
		return s.nextDay(after, loc)
	case KindCron:
		return s.nextCron(after, loc)
	case KindContinuous:
		return after.Add(s.Every).In(loc)
	default:
		return time.Time{}
	}
}

// Missed returns the planned times that are later than after and not later than until, oldest
// first: the times missed by a scheduler that last checked at after. If there are more than limit,
// it returns the last ones; if limit is less than 1, it returns none.
func (s Schedule) Missed(registered, after, until time.Time, loc *time.Location, limit int) []time.Time {
	if !s.IsTimed() || limit < 1 || !until.After(after) {
		return nil
	}
	if s.Kind == KindCron {
		if loc == nil {
			loc = time.UTC
		}
		return s.missedCron(after, until, loc, limit)
	}
	// If there may be many, the search starts near the end, so that even a year of seconds is
	// cheap.
	from := after
	if s.Kind == KindEvery {
		if t := addSeconds(until, -int64(s.Every/time.Second)*int64(limit+1)); t.After(from) {
			from = t
		}
	} else if t := until.AddDate(0, 0, -7*(limit+1)-searchDays); t.After(from) {
		from = t
	}
	var missed []time.Time
	for t := s.NextFrom(registered, from, loc); !t.IsZero() && !t.After(until); t = s.NextFrom(registered, t, loc) {
		if len(missed) == limit {
			missed = missed[1:]
		}
		missed = append(missed, t)
	}
	return missed
}

// nextTick computes with seconds and nanoseconds separately, as a time.Duration holds no more than
// 292 years.
func (s Schedule) nextTick(registered, after time.Time) time.Time {
	if s.Every < time.Second || after.Before(registered) {
		return registered.Add(max(s.Every, time.Second))
	}
	period := int64(s.Every / time.Second)
	gone := after.Unix() - registered.Unix()
	if after.Nanosecond() < registered.Nanosecond() {
		gone--
	}
	return addSeconds(registered, (gone/period+1)*period)
}

// addSeconds is t.Add for more seconds than a time.Duration holds.
func addSeconds(t time.Time, n int64) time.Time {
	return time.Unix(t.Unix()+n, int64(t.Nanosecond())).In(t.Location())
}

// nextDay tries one local day after another. A day's instant may lie on either side of a clock
// change, so the search starts two days early.
func (s Schedule) nextDay(after time.Time, loc *time.Location) time.Time {
	y, m, d := after.In(loc).Date()
	for i := -2; i < searchDays; i++ {
		day := time.Date(y, m, d+i, 0, 0, 0, 0, time.UTC) // only the date: UTC has every day
		if s.Kind == KindWeekly && !s.Days[day.Weekday()] || !exists(day, loc) {
			continue
		}
		at := firstInstant(day.Add(time.Duration(s.Hour)*time.Hour+time.Duration(s.Minute)*time.Minute), loc)
		if at.After(after) {
			return at
		}
	}
	return time.Time{}
}

// exists reports whether a date, represented by its midnight in UTC, exists in loc's calendar.
func exists(day time.Time, loc *time.Location) bool {
	y, m, d := firstInstant(day, loc).Date()
	wy, wm, wd := day.Date()
	return y == wy && m == wm && d == wd
}

// maxOffset is larger than any UTC offset that a zone has ever had.
const maxOffset = 18 * time.Hour

// firstInstant returns the first instant at which the wall clock of loc shows wall, which is
// written as if it were UTC, or a later time. That is the first of two occurrences, and for a
// skipped time the first instant after the gap (S1-36).
//
// time.Date does not help here: it does not guarantee which instant it returns for such times.
func firstInstant(wall time.Time, loc *time.Location) time.Time {
	begin, limit := wall.Add(-maxOffset), wall.Add(maxOffset)
	for t := begin; ; {
		local := t.In(loc)
		_, end := local.ZoneBounds()
		_, offset := local.Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if at.Before(t) {
			at = t
		}
		if end.IsZero() || at.Before(end) || end.After(limit) {
			return at.In(loc)
		}
		t = end
	}
}
