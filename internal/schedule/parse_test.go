package schedule_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/workflow"
	"pgregory.net/rapid"
)

const (
	interval   = workflow.ModeInterval
	continuous = workflow.ModeContinuous
)

func days(list ...int) (d [7]bool) {
	for _, n := range list {
		d[n] = true
	}
	return d
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, mode, spec string
		want             schedule.Schedule
	}{
		{"S1-27 absent", "", "", schedule.Schedule{Kind: schedule.KindNever}},
		{"S1-22 one_time", "one_time", "", schedule.Schedule{Kind: schedule.KindNever}},
		{"S1-22 one_time is not scheduled by a spec", "one_time", "nonsense",
			schedule.Schedule{Kind: schedule.KindNever}},
		{"S1-30 seconds", interval, "60", schedule.Schedule{Kind: schedule.KindEvery, Every: time.Minute}},
		{"S1-30 blanks", interval, " \t60\n", schedule.Schedule{Kind: schedule.KindEvery, Every: time.Minute}},
		{"S1-30 leading zeros", interval, "007", schedule.Schedule{Kind: schedule.KindEvery, Every: 7 * time.Second}},
		{"S1-30 the longest", interval, "3153600000",
			schedule.Schedule{Kind: schedule.KindEvery, Every: schedule.MaxSeconds * time.Second}},
		{"S1-31 daily", interval, "daily@09:05", schedule.Schedule{Kind: schedule.KindDaily, Hour: 9, Minute: 5}},
		{"S1-31 one-digit hour", interval, "daily@9:30", schedule.Schedule{Kind: schedule.KindDaily, Hour: 9,
			Minute: 30}},
		{"S1-31 blanks", interval, "  daily@ 23:59 ", schedule.Schedule{Kind: schedule.KindDaily, Hour: 23,
			Minute: 59}},
		{"S1-31 midnight", interval, "daily@00:00", schedule.Schedule{Kind: schedule.KindDaily}},
		{"S1-32 weekly", interval, "weekly@1,3,5", schedule.Schedule{Kind: schedule.KindWeekly, Days: days(1, 3, 5)}},
		{"S1-32 any order, twice, blanks", interval, "weekly@ 5, 0,5 ",
			schedule.Schedule{Kind: schedule.KindWeekly, Days: days(0, 5)}},
		{"S1-23 default delay", continuous, "", schedule.Schedule{Kind: schedule.KindContinuous, Every: time.Second}},
		{"S1-23 blanks are no delay", continuous, "  ", schedule.Schedule{Kind: schedule.KindContinuous,
			Every: time.Second}},
		{"S1-39 delay", continuous, "5", schedule.Schedule{Kind: schedule.KindContinuous, Every: 5 * time.Second}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			got, err := schedule.Parse(c.mode, c.spec)
			if err != nil || got != c.want {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const (
		forms   = `a schedule is a number of seconds ("60"), "daily@HH:mm" or "weekly@d1,d2" with 0 for Sunday`
		seconds = `write whole seconds, 1 or more, as in "60"`
		daily   = `write it as "daily@09:00", from 00:00 to 23:59`
		weekly  = `write days as numbers from 0 (Sunday) to 6 (Saturday), as in "weekly@1,3,5"`
		delay   = `the delay between two runs is a whole number of seconds ("5"); without one it is one second`
		bad     = schedule.CodeBadSchedule
	)
	for _, c := range []struct{ rule, mode, spec, code, message, hint string }{
		{"S1-22 interval without", interval, "", schedule.CodeMissingSchedule, "the mode interval needs a schedule",
			forms},
		{"S1-22 interval of blanks", interval, " ", schedule.CodeMissingSchedule, "the mode interval needs a schedule",
			forms},
		{"S1-27 mode in capitals", "Interval", "60", schedule.CodeUnknownMode, `unknown execution mode "Interval"`,
			`did you mean "interval"?`},
		{"S1-27 mode with a slip", "contiuous", "", schedule.CodeUnknownMode, `unknown execution mode "contiuous"`,
			`did you mean "continuous"?`},
		{"S1-27 other mode", "cron", "* * * * *", schedule.CodeUnknownMode, `unknown execution mode "cron"`,
			"write one_time, interval or continuous"},
		{"S1-30 zero", interval, "0", bad, `schedule "0": seconds must be 1 or more`, seconds},
		{"S1-30 zeros", interval, "000", bad, `schedule "000": seconds must be 1 or more`, seconds},
		{"S1-30 negative", interval, "-1", bad, `schedule "-1": seconds must be 1 or more`, seconds},
		{"S1-30 word", interval, "abc", bad, `invalid schedule "abc"`, forms},
		{"S1-30 trailing", interval, "60abc", bad, `schedule "60abc" is not a whole number of seconds`, forms},
		{"S1-30 fraction", interval, "1.5", bad, `schedule "1.5" is not a whole number of seconds`, forms},
		{"S1-30 sign", interval, "+60", bad, `schedule "+60" is not a whole number of seconds`, forms},
		{"S1-30 exponent", interval, "6e1", bad, `schedule "6e1" is not a whole number of seconds`, forms},
		{"S1-30 other digits", interval, "٦٠", bad, `invalid schedule "٦٠"`, forms},
		{"S1-30 dash", interval, "-", bad, `schedule "-" is not a whole number of seconds`, forms},
		{"S1-30 100 years and a second", interval, "3153600001", bad,
			`schedule "3153600001": more than 3153600000 seconds (100 years)`, ""},
		{"S1-30 more than 64 bits", interval, "99999999999999999999999", bad,
			`schedule "99999999999999999999999": more than 3153600000 seconds (100 years)`, ""},
		{"S1-31 hour", interval, "daily@99:00", bad,
			`schedule "daily@99:00": the hour is 99, the last one of a day is 23`, daily},
		{"S1-31 hour 24", interval, "daily@24:00", bad,
			`schedule "daily@24:00": the hour is 24, the last one of a day is 23`, `midnight is "daily@00:00"`},
		{"S1-31 minute", interval, "daily@0:99", bad,
			`schedule "daily@0:99": the minute is 99, the last one of an hour is 59`, daily},
		{"S1-31 minute 60", interval, "daily@09:60", bad,
			`schedule "daily@09:60": the minute is 60, the last one of an hour is 59`, daily},
		{"S1-31 no time", interval, "daily@", bad, `schedule "daily@" has no time of day`, daily},
		{"S1-31 hour alone", interval, "daily@9", bad, `schedule "daily@9": "9" is not a time of day`,
			`did you mean "daily@09:00"?`},
		{"S1-31 one-digit minute", interval, "daily@9:5", bad, `schedule "daily@9:5": minutes have two digits`,
			`did you mean "daily@09:05"?`},
		{"S1-31 seconds", interval, "daily@09:00:00", bad, `schedule "daily@09:00:00": "09:00:00" is not a time of day`,
			daily},
		{"S1-31 am", interval, "daily@9:00am", bad, `schedule "daily@9:00am": "9:00am" is not a time of day`, daily},
		{"S1-31 negative", interval, "daily@-1:00", bad, `schedule "daily@-1:00": "-1:00" is not a time of day`, daily},
		{"S1-31 without @", interval, "daily", bad, `invalid schedule "daily"`, forms},
		{"S1-31 slip", interval, "daly@09:00", bad, `schedule "daly@09:00": "daly" is not a form of schedule`,
			`did you mean "daily"?`},
		{"S1-31 capitals", interval, "Daily@09:00", bad, `schedule "Daily@09:00": "Daily" is not a form of schedule`,
			`did you mean "daily"?`},
		{"S1-32 seven", interval, "weekly@7", bad, `schedule "weekly@7": "7" is not a day`, "Sunday is 0"},
		{"S1-32 eight", interval, "weekly@1,8", bad, `schedule "weekly@1,8": "8" is not a day`, weekly},
		{"S1-32 negative", interval, "weekly@-1", bad, `schedule "weekly@-1": "-1" is not a day`, weekly},
		{
			"S1-32 name", interval, "weekly@Monday", bad, `schedule "weekly@Monday": "Monday" is not a day`,
			"write days as numbers from 0 (Sunday) to 6 (Saturday); this one is 1",
		},
		{"S1-32 no day", interval, "weekly@", bad, `schedule "weekly@" lists no day`, weekly},
		{"S1-32 hole", interval, "weekly@1,,3", bad, `schedule "weekly@1,,3": a day is missing between commas`, weekly},
		{"S1-32 time of day", interval, "weekly@1@09:00", bad, `schedule "weekly@1@09:00": "1@09:00" is not a day`,
			weekly},
		{"other form", interval, "monthly@1", bad, `schedule "monthly@1": "monthly" is not a form of schedule`, forms},
		{
			"S1-39 calendar of a continuous branch", continuous, "daily@09:00", bad,
			`schedule "daily@09:00": a continuous branch has no calendar`,
			`for a calendar use the mode "interval"; ` + delay,
		},
		{"S1-39 fraction", continuous, "0.5", bad, `schedule "0.5" is not a whole number of seconds`, delay},
		{"S1-39 zero", continuous, "0", bad, `schedule "0": seconds must be 1 or more`, seconds},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			got, err := schedule.Parse(c.mode, c.spec)
			var e *schedule.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if e.Code != c.code || e.Message != c.message || e.Hint != c.hint {
				t.Errorf("got\n%s %s\n%s\nwant\n%s %s\n%s", e.Code, e.Message, e.Hint, c.code, c.message, c.hint)
			}
			if got != (schedule.Schedule{}) {
				t.Errorf("an error with %+v", got)
			}
			want := c.message
			if c.hint != "" {
				want += "; " + c.hint
			}
			if err.Error() != want {
				t.Errorf("got %s, want %s", err, want)
			}
		})
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	tokyo, err := schedule.Zone("Asia/Tokyo", nil)
	if err != nil || tokyo.String() != "Asia/Tokyo" {
		t.Fatalf("got %v, %v", tokyo, err)
	}
	for name, local := range map[string]*time.Location{"": tokyo, " ": tokyo, "local": tokyo, "Local": tokyo} {
		if got, err := schedule.Zone(name, local); err != nil || got != local {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	if got, err := schedule.Zone("", nil); err != nil || got != time.UTC {
		t.Errorf("got %v, %v", got, err)
	}
	const place = `use a name of the time zone database, such as "Europe/Berlin", or "UTC"`
	for name, hint := range map[string]string{
		"Europe/Berln":     `did you mean "Europe/Berlin"?`,
		"europe/berlin":    `did you mean "Europe/Berlin"?`,
		"Berlin":           `did you mean "Europe/Berlin"?`,
		"america/new york": `did you mean "America/New_York"?`,
		"Buenos_Aires":     `did you mean "America/Argentina/Buenos_Aires"?`,
		"Helsinky":         `did you mean "Europe/Helsinki"?`,
		"utc":              `did you mean "UTC"?`,
		"UTC+0":            `did you mean "UTC"?`,
		"UTC+2": `a fixed distance of +2 hours from UTC is "Etc/GMT-2"; a place name is better, since it ` +
			`includes changes of the clock`,
		"-05:00": `a fixed distance of -5 hours from UTC is "Etc/GMT+5"; a place name is better, since it ` +
			`includes changes of the clock`,
		"../etc/passwd": place,
		"Mars/Olympus":  place,
		"\x00":          place,
	} {
		got, err := schedule.Zone(name, nil)
		var e *schedule.Error
		if !errors.As(err, &e) || got != nil || e.Code != schedule.CodeUnknownZone || e.Message != "unknown time zone "+
			strconv.Quote(name) || e.Hint != hint {
			t.Errorf("%q: got %v, %v", name, got, err)
		}
	}
}

func TestZoneNames(t *testing.T) {
	t.Parallel()
	names := schedule.ZoneNames()
	if len(names) < 590 {
		t.Fatalf("%d names", len(names))
	}
	for _, name := range names {
		if loc, err := schedule.Zone(name, nil); err != nil || loc.String() != name {
			t.Errorf("%s: %v, %v", name, loc, err)
		}
	}
}

// FuzzParse checks that nothing panics, and that the string form of a parsed schedule parses to the
// same schedule.
func FuzzParse(f *testing.F) {
	for _, spec := range []string{"60", "daily@9:30", "weekly@1,3,5", "weekly@", "daily@99:00", "-1", "60abc", "", " ",
		"@", "daily@:", "weekly@,", "٦٠", "\xff"} {
		f.Add(interval, spec)
		f.Add(continuous, spec)
	}
	f.Add("one_time", "60")
	f.Add("nonsense", "60")
	f.Fuzz(func(t *testing.T, mode, spec string) {
		s, err := schedule.Parse(mode, spec)
		if err != nil {
			var e *schedule.Error
			if !errors.As(err, &e) || e.Message == "" || e.Code == "" || s != (schedule.Schedule{}) {
				t.Fatalf("%q %q: %+v, %v", mode, spec, s, err)
			}
			return
		}
		again, err := schedule.Parse(mode, s.String())
		if err != nil || again != s {
			t.Fatalf("%q %q: reads %+v, written %q reads %+v, %v", mode, spec, s, s.String(), again, err)
		}
		at := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)
		if next := s.Next(at, time.UTC); s.Kind != schedule.KindNever && !next.After(at) {
			t.Fatalf("%q: next after %s is %s", spec, at, next)
		}
	})
}

// S1-30: a digit string is accepted if and only if it is a positive number up to the limit.
func TestParseSecondsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9]{1,14}`).Draw(t, "text")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schedule.Parse(interval, text)
		if want := n > 0 && n <= schedule.MaxSeconds; (err == nil) != want {
			t.Fatalf("%s: %v", text, err)
		}
		if err == nil && (s.Every != time.Duration(n)*time.Second || s.String() != strings.TrimLeft(text, "0")) {
			t.Fatalf("%s: %+v", text, s)
		}
	})
}
