package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/workflow"
)

func cron(t testing.TB, spec string) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(workflow.ModeInterval, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCronNext checks the planned times of cron expressions.
func TestCronNext(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, spec, after, want string }{
		{"minutes", "*/15 * * * *", "2026-05-01T09:07:30Z", "2026-05-01T09:15:00Z"},
		{"strictly after", "0 9 * * *", "2026-05-01T07:00:00Z", "2026-05-02T07:00:00Z"},
		{"work days", "0 9 * * 1-5", "2026-05-01T08:00:00Z", "2026-05-04T07:00:00Z"},
		{"names", "30 8 * feb MON", "2026-05-01T08:00:00Z", "2027-02-01T07:30:00Z"},
		{"seven is Sunday", "0 0 * * 7", "2026-05-01T08:00:00Z", "2026-05-02T22:00:00Z"},
		{"lists and steps", "5,50-59/4 3 * * *", "2026-05-01T01:50:00Z", "2026-05-01T01:54:00Z"},
		{"six fields", "10/20 0 12 * * *", "2026-05-01T10:00:10Z", "2026-05-01T10:00:30Z"},
		{"day or weekday", "0 0 13 * 5", "2026-05-07T22:00:00Z", "2026-05-12T22:00:00Z"},
		{"a day with step one", "0 0 */1 * 1", "2026-01-28T00:00:00Z", "2026-02-01T23:00:00Z"},
		{"a weekday with step one", "0 0 13 * */1", "2026-05-07T22:00:00Z", "2026-05-12T22:00:00Z"},
		{"a question mark", "0 0 ? * 1", "2026-01-28T00:00:00Z", "2026-02-01T23:00:00Z"},
		{"a star in a list", "0 0 *,13 * 1", "2026-01-28T00:00:00Z", "2026-02-01T23:00:00Z"},
		{"both with step one", "0 0 */1 * */1", "2026-01-28T00:00:00Z", "2026-01-28T23:00:00Z"},
		{"a range of all days restricts, as in cron", "0 0 1-31 * 1", "2026-01-28T00:00:00Z", "2026-01-28T23:00:00Z"},
		{"a range of all weekdays restricts too", "0 0 13 * 0-6", "2026-01-28T00:00:00Z", "2026-01-28T23:00:00Z"},
		{"a step of two restricts", "0 0 */2 * 1", "2026-02-02T00:00:00Z", "2026-02-02T23:00:00Z"},
		{"a leap day", "0 0 29 2 *", "2028-03-01T00:00:00Z", "2032-02-28T23:00:00Z"},
		{"no leap day in 2100", "0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-28T23:00:00Z"},
		{"daily", "@daily", "2026-05-01T08:00:00Z", "2026-05-01T22:00:00Z"},
		{"monthly", "@monthly", "2026-05-01T08:00:00Z", "2026-05-31T22:00:00Z"},
		{"every", "@every 1h30m", "2026-05-01T08:00:00Z", "2026-05-01T09:30:00Z"},
		{"the clock jumps over it", "30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"the clock shows it twice", "30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"and it counts once", "30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"each hour counts twice", "30 * * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"an hour that is jumped over", "30 * * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			after, err := time.Parse(time.RFC3339, test.after)
			if err != nil {
				t.Fatal(err)
			}
			if got := cron(t, test.spec).Next(after, berlin).UTC().Format(time.RFC3339); got != test.want {
				t.Errorf("after %s comes %s, want %s", test.after, got, test.want)
			}
		})
	}
}

// TestCronRefused checks that each problem names the field.
func TestCronRefused(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"* * * *": "has 4 fields", "* * * * * * *": "has 7 fields",
		"60 * * * *": `the minute is "60", not a number from 0 to 59`, "0 24 * * *": "the hour is",
		"0 0 0 * *":  "the day is",
		"0 0 * 13 *": "the month is", "0 0 * * 8": "the weekday is", "5-1 * * * *": "goes backwards",
		"*/0 * * * *": "the step of the minute", "1,,2 * * * *": `the minute is ""`,
		"0 0 30 2 *": "no year has such a day", "@dayly": "did you mean", "@every": "@every 90s",
		"@every soon": "is not a duration", "@every 500ms": "1 or more", "@daily 9": "write one of",
		"? * * * *":  "the minute is",
		"0 0 * * mo": "the weekday is",
	} {
		_, err := schedule.Parse(workflow.ModeInterval, spec)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
	if _, err := schedule.Parse(workflow.ModeContinuous, "* * * * *"); err == nil {
		t.Error("a continuous branch has a cron")
	}
}

// TestCronRandom compares Next with a direct, minute-by-minute evaluation of the fields, and Missed
// with Next.
func TestCronRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		field := func(name string, low, high int) (string, func(int) bool) {
			switch a, b := rapid.IntRange(low, high).Draw(t, name),
				rapid.IntRange(low, high).Draw(t, name+" to"); rapid.IntRange(0, 3).Draw(t, name+" form") {
			case 0:
				return fmt.Sprint(a), func(n int) bool { return n == a }
			case 1:
				a, b = min(a, b), max(a, b)
				return fmt.Sprintf("%d-%d/2", a, b), func(n int) bool { return n >= a && n <= b && (n-a)%2 == 0 }
			case 2:
				return fmt.Sprintf("%d,%d", a, b), func(n int) bool { return n == a || n == b }
			default:
				return "*", func(int) bool { return true }
			}
		}
		m, inM := field("minute", 0, 59)
		h, inH := field("hour", 0, 23)
		d, inD := field("day", 1, 28)
		w, inW := field("weekday", 0, 6)
		s, err := schedule.Parse(workflow.ModeInterval, fmt.Sprintf("%s %s %s * %s", m, h, d, w))
		if err != nil {
			t.Fatal(err)
		}
		after := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "after"), 0).UTC()
		until := after.AddDate(0, 0, 10)
		var want []time.Time
		for at := after.Truncate(time.Minute).Add(time.Minute); !at.After(until); at = at.Add(time.Minute) {
			day := inD(at.Day()) && inW(int(at.Weekday()))
			if d != "*" && w != "*" {
				day = inD(at.Day()) || inW(int(at.Weekday()))
			}
			if day && inH(at.Hour()) && inM(at.Minute()) {
				want = append(want, at)
			}
		}
		at := after
		for _, next := range want[:min(len(want), 50)] {
			if at = s.Next(at, time.UTC); !at.Equal(next) {
				t.Fatalf("%s: got %s, want %s", s, at, next)
			}
		}
		if len(want) == 0 && !s.Next(after, time.UTC).After(until) {
			t.Fatalf("%s: %s is none", s, s.Next(after, time.UTC))
		}
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		missed := s.Missed(after, after, until, time.UTC, limit)
		if len(missed) != min(limit, len(want)) {
			t.Fatalf("%s: %d were missed, want %d", s, len(missed), min(limit, len(want)))
		}
		for i, got := range missed {
			if !got.Equal(want[len(want)-len(missed)+i]) {
				t.Fatalf("%s: missed %s, want %s", s, got, want[len(want)-len(missed)+i])
			}
		}
		if again, err := schedule.Parse(workflow.ModeInterval, s.String()); err != nil || again != s {
			t.Fatalf("%s is read as %v, %v", s, again, err)
		}
	})
}
