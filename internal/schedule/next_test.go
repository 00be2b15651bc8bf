package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/schedule"
	"pgregory.net/rapid"
)

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := schedule.Zone(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func parse(t testing.TB, spec string) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(interval, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// S1-33, S1-34, S1-36: the expected times, the times found by the minute-by-minute oracle and the
// results of Next are the same.
func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ spec, zone, after, want string }{
		{"daily@02:30", "America/New_York", "2026-03-07T12:00:00Z",
			"2026-03-08T03:00:00-04:00 2026-03-09T02:30:00-04:00 2026-03-10T02:30:00-04:00"},
		{"daily@01:30", "America/New_York", "2026-10-31T12:00:00Z",
			"2026-11-01T01:30:00-04:00 2026-11-02T01:30:00-05:00 2026-11-03T01:30:00-05:00"},
		{"daily@02:00", "America/New_York", "2026-03-08T06:59:59Z",
			"2026-03-08T03:00:00-04:00 2026-03-09T02:00:00-04:00 2026-03-10T02:00:00-04:00"},
		{"daily@03:00", "America/New_York", "2026-03-07T12:00:00Z",
			"2026-03-08T03:00:00-04:00 2026-03-09T03:00:00-04:00 2026-03-10T03:00:00-04:00"},
		{"daily@02:00", "America/New_York", "2026-10-31T12:00:00Z",
			"2026-11-01T02:00:00-05:00 2026-11-02T02:00:00-05:00 2026-11-03T02:00:00-05:00"},
		{"weekly@0", "America/New_York", "2026-03-02T05:00:00Z",
			"2026-03-08T00:00:00-05:00 2026-03-15T00:00:00-04:00 2026-03-22T00:00:00-04:00"},
		{"weekly@0,1", "America/New_York", "2026-10-31T12:00:00Z",
			"2026-11-01T00:00:00-04:00 2026-11-02T00:00:00-05:00 2026-11-08T00:00:00-05:00"},
		{"daily@01:30", "America/New_York", "2026-11-01T05:30:00Z",
			"2026-11-02T01:30:00-05:00 2026-11-03T01:30:00-05:00 2026-11-04T01:30:00-05:00"},
		{"daily@00:00", "America/Havana", "2026-03-07T12:00:00Z",
			"2026-03-08T01:00:00-04:00 2026-03-09T00:00:00-04:00 2026-03-10T00:00:00-04:00"},
		{"weekly@0", "America/Havana", "2026-03-04T12:00:00Z",
			"2026-03-08T01:00:00-04:00 2026-03-15T00:00:00-04:00 2026-03-22T00:00:00-04:00"},
		{"daily@00:30", "America/Havana", "2026-03-07T12:00:00Z",
			"2026-03-08T01:00:00-04:00 2026-03-09T00:30:00-04:00 2026-03-10T00:30:00-04:00"},
		{"daily@00:30", "America/Havana", "2026-10-31T12:00:00Z",
			"2026-11-01T00:30:00-04:00 2026-11-02T00:30:00-05:00 2026-11-03T00:30:00-05:00"},
		{"weekly@0", "America/Havana", "2026-10-28T12:00:00Z",
			"2026-11-01T00:00:00-04:00 2026-11-08T00:00:00-05:00 2026-11-15T00:00:00-05:00"},
		{"daily@00:59", "America/Havana", "2026-03-08T04:59:00Z",
			"2026-03-08T01:00:00-04:00 2026-03-09T00:59:00-04:00 2026-03-10T00:59:00-04:00"},
		{"weekly@0", "America/Santiago", "2026-09-02T12:00:00Z",
			"2026-09-06T01:00:00-03:00 2026-09-13T00:00:00-03:00 2026-09-20T00:00:00-03:00"},
		{"daily@00:00", "America/Santiago", "2026-09-05T12:00:00Z",
			"2026-09-06T01:00:00-03:00 2026-09-07T00:00:00-03:00 2026-09-08T00:00:00-03:00"},
		{"daily@23:30", "America/Santiago", "2026-04-03T12:00:00Z",
			"2026-04-03T23:30:00-03:00 2026-04-04T23:30:00-03:00 2026-04-05T23:30:00-04:00"},
		{"daily@00:15", "America/Santiago", "2026-09-05T12:00:00Z",
			"2026-09-06T01:00:00-03:00 2026-09-07T00:15:00-03:00 2026-09-08T00:15:00-03:00"},
		{"weekly@0,6", "America/Santiago", "2026-04-03T12:00:00Z",
			"2026-04-04T00:00:00-03:00 2026-04-05T00:00:00-04:00 2026-04-11T00:00:00-04:00"},
		{"daily@02:15", "Australia/Lord_Howe", "2026-10-03T00:00:00Z",
			"2026-10-04T02:30:00+11:00 2026-10-05T02:15:00+11:00 2026-10-06T02:15:00+11:00"},
		{"daily@02:30", "Australia/Lord_Howe", "2026-10-03T00:00:00Z",
			"2026-10-04T02:30:00+11:00 2026-10-05T02:30:00+11:00 2026-10-06T02:30:00+11:00"},
		{"daily@01:45", "Australia/Lord_Howe", "2026-04-04T00:00:00Z",
			"2026-04-05T01:45:00+11:00 2026-04-06T01:45:00+10:30 2026-04-07T01:45:00+10:30"},
		{"weekly@0", "Australia/Lord_Howe", "2026-04-01T00:00:00Z",
			"2026-04-05T00:00:00+11:00 2026-04-12T00:00:00+10:30 2026-04-19T00:00:00+10:30"},
		{"daily@12:00", "Pacific/Apia", "2011-12-28T12:00:00Z",
			"2011-12-28T12:00:00-10:00 2011-12-29T12:00:00-10:00 2011-12-31T12:00:00+14:00"},
		{"weekly@5", "Pacific/Apia", "2011-12-22T12:00:00Z",
			"2011-12-23T00:00:00-10:00 2012-01-06T00:00:00+14:00 2012-01-13T00:00:00+14:00"},
		{"weekly@4,5,6", "Pacific/Apia", "2011-12-28T12:00:00Z",
			"2011-12-29T00:00:00-10:00 2011-12-31T00:00:00+14:00 2012-01-05T00:00:00+14:00"},
		{"daily@00:00", "Pacific/Apia", "2011-12-29T12:00:00Z",
			"2011-12-31T00:00:00+14:00 2012-01-01T00:00:00+14:00 2012-01-02T00:00:00+14:00"},
		{"daily@03:30", "Pacific/Apia", "2011-04-01T12:00:00Z",
			"2011-04-01T03:30:00-10:00 2011-04-02T03:30:00-10:00 2011-04-03T03:30:00-11:00"},
		{"daily@23:59", "Pacific/Apia", "2011-12-29T12:00:00Z",
			"2011-12-29T23:59:00-10:00 2011-12-31T23:59:00+14:00 2012-01-01T23:59:00+14:00"},
		{"daily@02:30", "Africa/Casablanca", "2026-02-14T12:00:00Z",
			"2026-02-15T02:30:00+01:00 2026-02-16T02:30:00Z 2026-02-17T02:30:00Z"},
		{"daily@02:30", "Africa/Casablanca", "2026-03-21T12:00:00Z",
			"2026-03-22T03:00:00+01:00 2026-03-23T02:30:00+01:00 2026-03-24T02:30:00+01:00"},
		{"weekly@0", "Africa/Casablanca", "2026-03-18T12:00:00Z",
			"2026-03-22T00:00:00Z 2026-03-29T00:00:00+01:00 2026-04-05T00:00:00+01:00"},
		{"daily@02:00", "Africa/Casablanca", "2026-03-22T00:00:00Z",
			"2026-03-22T03:00:00+01:00 2026-03-23T02:00:00+01:00 2026-03-24T02:00:00+01:00"},
		{"daily@02:30", "Europe/Berlin", "2026-03-28T12:00:00Z",
			"2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00 2026-03-31T02:30:00+02:00"},
		{"daily@02:30", "Europe/Berlin", "2026-10-24T12:00:00Z",
			"2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00 2026-10-27T02:30:00+01:00"},
		{"weekly@1,3,5", "Europe/Berlin", "2026-03-27T12:00:00Z",
			"2026-03-30T00:00:00+02:00 2026-04-01T00:00:00+02:00 2026-04-03T00:00:00+02:00"},
		{"daily@01:30", "Europe/London", "2026-03-28T12:00:00Z",
			"2026-03-29T02:00:00+01:00 2026-03-30T01:30:00+01:00 2026-03-31T01:30:00+01:00"},
		{"daily@01:30", "Europe/Dublin", "2026-10-24T12:00:00Z",
			"2026-10-25T01:30:00+01:00 2026-10-26T01:30:00Z 2026-10-27T01:30:00Z"},
		{"daily@23:30", "America/Nuuk", "2024-03-29T12:00:00Z",
			"2024-03-29T23:30:00-02:00 2024-03-31T00:00:00-01:00 2024-03-31T23:30:00-01:00"},
		{"daily@23:30", "America/Nuuk", "2024-10-25T12:00:00Z",
			"2024-10-25T23:30:00-01:00 2024-10-26T23:30:00-01:00 2024-10-27T23:30:00-02:00"},
		{"daily@00:30", "Asia/Beirut", "2026-03-27T12:00:00Z",
			"2026-03-28T00:30:00+02:00 2026-03-29T01:00:00+03:00 2026-03-30T00:30:00+03:00"},
		{"weekly@0", "Asia/Beirut", "2026-03-27T12:00:00Z",
			"2026-03-29T01:00:00+03:00 2026-04-05T00:00:00+03:00 2026-04-12T00:00:00+03:00"},
		{"daily@00:00", "Africa/Cairo", "2026-04-22T12:00:00Z",
			"2026-04-23T00:00:00+02:00 2026-04-24T01:00:00+03:00 2026-04-25T00:00:00+03:00"},
		{"weekly@5", "Africa/Cairo", "2026-10-28T12:00:00Z",
			"2026-10-30T00:00:00+02:00 2026-11-06T00:00:00+02:00 2026-11-13T00:00:00+02:00"},
		{"daily@00:00", "Asia/Gaza", "2026-03-27T12:00:00Z",
			"2026-03-28T00:00:00+02:00 2026-03-29T00:00:00+03:00 2026-03-30T00:00:00+03:00"},
		{"daily@12:00", "Pacific/Kwajalein", "1993-08-19T12:00:00Z",
			"1993-08-19T12:00:00-12:00 1993-08-20T12:00:00-12:00 1993-08-22T12:00:00+12:00"},
		{"weekly@6", "Pacific/Kwajalein", "1993-08-10T12:00:00Z",
			"1993-08-14T00:00:00-12:00 1993-08-28T00:00:00+12:00 1993-09-04T00:00:00+12:00"},
		{"daily@00:10", "America/Sao_Paulo", "2018-11-03T12:00:00Z",
			"2018-11-04T01:00:00-02:00 2018-11-05T00:10:00-02:00 2018-11-06T00:10:00-02:00"},
		{"weekly@0,6", "America/Sao_Paulo", "2018-02-16T12:00:00Z",
			"2018-02-17T00:00:00-02:00 2018-02-18T00:00:00-03:00 2018-02-24T00:00:00-03:00"},
		{"daily@09:00", "Asia/Kathmandu", "2026-01-01T00:00:00Z",
			"2026-01-01T09:00:00+05:45 2026-01-02T09:00:00+05:45 2026-01-03T09:00:00+05:45"},
		{"daily@00:00", "Asia/Pyongyang", "2015-08-13T12:00:00Z",
			"2015-08-14T00:00:00+09:00 2015-08-15T00:00:00+08:30 2015-08-16T00:00:00+08:30"},
		{"daily@23:45", "Asia/Pyongyang", "2018-05-03T12:00:00Z",
			"2018-05-03T23:45:00+08:30 2018-05-05T00:00:00+09:00 2018-05-05T23:45:00+09:00"},
		{"daily@02:30", "Antarctica/Troll", "2026-03-28T12:00:00Z",
			"2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00 2026-03-31T02:30:00+02:00"},
		{"weekly@1", "Pacific/Chatham", "2026-09-25T12:00:00Z",
			"2026-09-28T00:00:00+13:45 2026-10-05T00:00:00+13:45 2026-10-12T00:00:00+13:45"},
		{"daily@03:00", "Pacific/Chatham", "2026-09-25T12:00:00Z",
			"2026-09-26T03:00:00+12:45 2026-09-27T03:45:00+13:45 2026-09-28T03:00:00+13:45"},
		{"daily@00:00", "UTC", "2028-02-28T00:00:00Z",
			"2028-02-29T00:00:00Z 2028-03-01T00:00:00Z 2028-03-02T00:00:00Z"},
		{"weekly@2", "UTC", "2028-02-24T00:00:00Z", "2028-02-29T00:00:00Z 2028-03-07T00:00:00Z 2028-03-14T00:00:00Z"},
		{"5400", "America/New_York", "2026-03-08T06:00:00Z",
			"2026-03-08T03:30:00-04:00 2026-03-08T05:00:00-04:00 2026-03-08T06:30:00-04:00"},
		{"86400", "Europe/Berlin", "2026-10-24T22:00:00Z",
			"2026-10-25T23:00:00+01:00 2026-10-26T23:00:00+01:00 2026-10-27T23:00:00+01:00"},
	} {
		t.Run(fmt.Sprintf("S1-36 %s in %s after %s", c.spec, c.zone, c.after), func(t *testing.T) {
			t.Parallel()
			s, loc, at := parse(t, c.spec), zone(t, c.zone), instant(t, c.after)
			want := strings.Fields(c.want)
			for i, o := range oracle(t, s, loc, at, len(want)) {
				at = s.Next(at, loc)
				if got, seen := at.Format(time.RFC3339), o.In(loc).Format(time.RFC3339); got != want[i] ||
					seen != want[i] {
					t.Errorf("got %s, the oracle sees %s, want %s", got, seen, want[i])
				}
			}
		})
	}
}

func TestNextRules(t *testing.T) {
	t.Parallel()
	utc := time.UTC
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, utc) // a Monday
	for _, c := range []struct {
		rule, spec  string
		after, want time.Time
	}{
		{"S1-33 on the listed day at midnight: another day", "weekly@1,3", noon.Truncate(24 * time.Hour),
			time.Date(2026, 11, 25, 0, 0, 0, 0, utc)},
		{"S1-33 a nanosecond before midnight", "weekly@1", noon.Truncate(24 * time.Hour).Add(-1),
			time.Date(2026, 11, 23, 0, 0, 0, 0, utc)},
		{"S1-33 one day alone: seven days away", "weekly@1", noon.Truncate(24 * time.Hour),
			time.Date(2026, 11, 30, 0, 0, 0, 0, utc)},
		{"S1-34 at the minute: tomorrow", "daily@12:00", noon, noon.AddDate(0, 0, 1)},
		{"S1-34 a nanosecond before", "daily@12:00", noon.Add(-1), noon},
		{"S1-37 an interval counts from its registration", "90", noon, noon.Add(90 * time.Second)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, c.spec).Next(c.after, nil); !got.Equal(c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	delay, err := schedule.Parse(continuous, "5")
	if err != nil {
		t.Fatal(err)
	}
	if got := delay.Next(noon, utc); !got.Equal(noon.Add(5 * time.Second)) {
		t.Errorf("S1-23: got %s", got)
	}
	for _, never := range []schedule.Schedule{{}, {Kind: schedule.KindNever}, {Kind: schedule.KindWeekly}} {
		if got := never.Next(noon, utc); !got.IsZero() || never.Missed(noon, noon.AddDate(0, -1, 0), noon, utc,
			5) != nil {
			t.Errorf("S1-22: %+v fires at %s", never, got)
		}
	}
}

// S1-37: ticks occur at whole periods after the registration, regardless of clock changes.
func TestNext_Interval(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := schedule.Schedule{Kind: schedule.KindEvery,
			Every: time.Duration(rapid.Int64Range(1, schedule.MaxSeconds).Draw(t, "seconds")) * time.Second}
		registered := drawInstant(t, "registered")
		after := registered.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(200*365*24*time.Hour)).Draw(t,
			"gone")))
		next := s.NextFrom(registered, after, time.UTC)
		if !next.After(after) || !next.After(registered) {
			t.Fatalf("next of %s is %s", after, next)
		}
		if gone := next.Unix() - registered.Unix(); gone%int64(s.Every/time.Second) != 0 ||
			next.Nanosecond() != registered.Nanosecond() {
			t.Fatalf("%s is no whole number of periods after %s", next, registered)
		}
		if before := next.Add(-s.Every); before.After(after) && before.After(registered) {
			t.Fatalf("%s is left out", before)
		}
	})
}

func drawInstant(t *rapid.T, name string) time.Time {
	// Clocks have been changed by decree many times since 1900; after 2037 the rules repeat
	// forever.
	return time.Unix(rapid.Int64Range(-2208988800, 4102444800).Draw(t, name),
		rapid.Int64Range(0, 999999999).Draw(t, name+" ns")).UTC()
}

// S1-33 to S1-36 over all zones: fire times increase; each lies on its local day, and each listed
// local day that exists has one.
func TestNext_EachDayOnce(t *testing.T) {
	t.Parallel()
	names := schedule.ZoneNames()
	rapid.Check(t, func(t *rapid.T) {
		loc, err := schedule.Zone(rapid.SampledFrom(names).Draw(t, "zone"), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := schedule.Schedule{Kind: schedule.KindDaily, Hour: rapid.IntRange(0, 23).Draw(t, "hour"),
			Minute: rapid.IntRange(0, 59).Draw(t, "minute")}
		if rapid.Bool().Draw(t, "weekly") {
			s = schedule.Schedule{Kind: schedule.KindWeekly}
			for _, d := range rapid.SliceOfN(rapid.IntRange(0, 6), 1, 4).Draw(t, "days") {
				s.Days[d] = true
			}
		}
		from := drawInstant(t, "from")
		if rapid.Bool().Draw(t, "near a change") {
			if _, end := from.In(loc).ZoneBounds(); !end.IsZero() {
				from = end.Add(-time.Duration(rapid.Int64Range(0, int64(96*time.Hour)).Draw(t, "before the change")))
			}
		}
		checkDays(t, s, loc, from)
	})
}

func checkDays(t *rapid.T, s schedule.Schedule, loc *time.Location, from time.Time) {
	t.Helper()
	type day struct{ y, m, d int }
	dayOf := func(at time.Time) day {
		y, m, d := at.In(loc).Date()
		return day{y, int(m), d}
	}
	until := from.AddDate(0, 0, 12)
	fires := map[day]int{}
	last := from
	for at := s.Next(from, loc); at.Before(until); at = s.Next(at, loc) {
		if !at.After(last) {
			t.Fatalf("%s follows %s", at, last)
		}
		if again := s.Next(at.Add(-1), loc); !again.Equal(at) {
			t.Fatalf("a nanosecond before %s the next is %s", at, again)
		}
		last = at
		local := dayOf(at)
		if wall := at.In(loc); wall.Hour()*60+wall.Minute() < s.Hour*60+s.Minute {
			// Only if the clock skipped both the time and midnight: the schedule fires at the first
			// instant of the next day, which counts for the day before.
			if before := dayOf(at.Add(-1)); before == local {
				t.Fatalf("%s fires before its time", wall)
			} else {
				local = before
			}
		}
		fires[local]++
	}
	// Days that begin well inside the range, found by checking every five minutes.
	seen := map[day]bool{}
	for at := from.Add(26 * time.Hour); at.Before(until.Add(-50 * time.Hour)); at = at.Add(5 * time.Minute) {
		d := dayOf(at)
		if seen[d] {
			continue
		}
		seen[d] = true
		listed := s.Kind == schedule.KindDaily ||
			s.Days[time.Date(d.y, time.Month(d.m), d.d, 0, 0, 0, 0, time.UTC).Weekday()]
		if want := map[bool]int{true: 1}[listed]; fires[d] != want {
			t.Fatalf("%v fires %d times, want %d", d, fires[d], want)
		}
	}
}

func TestMissed(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	at := func(text string) time.Time { return instant(t, text) }
	for _, c := range []struct {
		name, spec         string
		registered         string
		after, until, want string
		limit              int
	}{
		{"none yet", "60", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:59Z", "", 9},
		{"the first one", "60", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z",
			"2026-01-01T00:01:00Z", 9},
		{"after is left out, until is not", "60", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z",
			"2026-01-01T00:03:00Z", "2026-01-01T00:02:00Z 2026-01-01T00:03:00Z", 9},
		{"the last of a year of seconds", "1", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z",
			"2025-12-31T23:59:59Z 2026-01-01T00:00:00Z", 2},
		{"no limit, nothing", "60", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", "", 0},
		{"the clock went back", "60", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "2026-01-01T00:03:00Z", "", 9},
		{"days over a change", "daily@02:30", "2026-01-01T00:00:00Z", "2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z",
			"2026-03-28T01:30:00Z 2026-03-29T01:00:00Z 2026-03-30T00:30:00Z", 9},
		{"the last day of ten years", "daily@02:30", "2016-01-01T00:00:00Z", "2016-01-01T00:00:00Z",
			"2026-03-30T12:00:00Z", "2026-03-30T00:30:00Z", 1},
		{"weeks", "weekly@1", "2016-01-01T00:00:00Z", "2016-01-01T00:00:00Z", "2026-03-30T12:00:00Z",
			"2026-03-22T23:00:00Z 2026-03-29T22:00:00Z", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range parse(t, c.spec).Missed(at(c.registered), at(c.after), at(c.until), berlin, c.limit) {
				got = append(got, m.UTC().Format(time.RFC3339))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

// TestNext_ExtremeTimes checks that instants at the limits of time.Time yield a time or never,
// and that the search terminates.
func TestNext_ExtremeTimes(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.Unix(1<<62, 0), time.Unix(-1<<62, 0), time.Unix(0, 0)} {
		for _, spec := range []string{"1", "3153600000", "daily@00:00", "daily@23:59", "weekly@0,6"} {
			for _, name := range []string{"UTC", "America/New_York", "Pacific/Apia", "Asia/Manila"} {
				s, loc := parse(t, spec), zone(t, name)
				if next := s.Next(at, loc); at.Year() > 0 && at.Year() < 9999 && !next.After(at) {
					t.Errorf("%s in %s after %s: %s", spec, name, at, next)
				}
			}
		}
	}
}
