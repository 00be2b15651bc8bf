package schedule

import "time"

// searchDays is how many local days are looked at for the next fire: two weeks for a weekly day that does not exist, and some.
const searchDays = 32

// Next gives the first planned time strictly after after, in loc; nil is UTC. An interval counts from after, a continuous delay too. The zero
// time means never: one_time, and a calendar so far out that time ends before it.
func (s Schedule) Next(after time.Time, loc *time.Location) time.Time {
	return s.NextFrom(after, after, loc)
}

// NextFrom is Next for a schedule that was registered at an instant of its own: an interval fires at registered + n periods, n from 1 on
// (S1-37, S1-38), and never before. A calendar depends on its zone alone, and a delay counts from after.
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

// Missed gives the planned times that are later than after and not later than until, oldest first: what a scheduler slept through that looked last
// at after. Of more than limit it gives the last ones; limit under 1 gives none.
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
	// Where there may be many, it begins near the end: a year of seconds is no work.
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

// nextTick works on seconds and nanoseconds apart, as a time.Duration holds no more than 292 years.
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

// nextDay looks at one local day after the other. A day's instant may lie on either side of the clock's changes, so it begins two days early.
func (s Schedule) nextDay(after time.Time, loc *time.Location) time.Time {
	y, m, d := after.In(loc).Date()
	for i := -2; i < searchDays; i++ {
		day := time.Date(y, m, d+i, 0, 0, 0, 0, time.UTC) // the date alone: UTC has every day
		if s.Kind == KindWeekly && !s.Days[day.Weekday()] || !exists(day, loc) {
			continue
		}
		at := reach(day.Add(time.Duration(s.Hour)*time.Hour+time.Duration(s.Minute)*time.Minute), loc)
		if at.After(after) {
			return at
		}
	}
	return time.Time{}
}

// exists tells whether a date, given as its midnight in UTC, is one that loc's calendar has.
func exists(day time.Time, loc *time.Location) bool {
	y, m, d := reach(day, loc).Date()
	wy, wm, wd := day.Date()
	return y == wy && m == wm && d == wd
}

// maxOffset is more than any zone's distance from UTC there ever was.
const maxOffset = 18 * time.Hour

// reach gives the first instant at which the wall clock of loc shows wall, which is written as if it were UTC, or a later time. That is the
// first of two occurrences, and the first instant after the gap for a time that the clock jumps over (S1-36).
//
// time.Date is no help here: which instant it gives for such times is not promised.
func reach(wall time.Time, loc *time.Location) time.Time {
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
