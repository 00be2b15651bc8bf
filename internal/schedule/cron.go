package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

// Cron holds the times of a KindCron schedule: one bit set of numbers per field. It is a value:
// copy and compare it freely.
type Cron struct {
	Seconds, Minutes      uint64
	Hours, Days, Weekdays uint32 // Days from 1, Weekdays from 0 for Sunday
	Months                uint16 // from 1
	// AnyDay and AnyWeekday mean that the day or the weekday field is unrestricted: one of its
	// items is `*`, `*/1` or `?`. If both fields are restricted, a day has to match only one of
	// them.
	AnyDay, AnyWeekday bool
	// Text is the original expression.
	Text string
}

const cronForm = `write five fields, minute hour day month weekday, as in "0 9 * * 1-5", or six that begin with ` +
	`the second`

// aliases are shorthands for common cron expressions.
var aliases = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

var aliasNames = []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually", "@every"}

// cronField is one field: its limits and the names of its numbers, starting at low.
type cronField struct {
	name      string
	low, high int
	names     []string
}

var cronFields = []cronField{
	{"second", 0, 59, nil}, {"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"weekday", 0, 7, dayNames},
}

// isCron reports whether a spec is an alias or has several fields with numbers.
func isCron(spec string) bool {
	form, _, _ := strings.Cut(spec, "@")
	if f := strings.TrimSpace(form); f == "daily" || f == "weekly" { // blanks around their parts are ignored
		return false
	}
	return strings.HasPrefix(spec, "@") || len(strings.Fields(spec)) > 1 && strings.ContainsAny(spec, "*0123456789")
}

// parseCron parses an alias, `@every 90s`, or five or six fields.
func parseCron(spec string) (Schedule, error) {
	words := strings.Fields(spec)
	if strings.HasPrefix(words[0], "@") {
		return parseAlias(spec, words)
	}
	if len(words) != 5 && len(words) != 6 {
		return Schedule{}, bad(cronForm, "schedule %q has %d fields", spec, len(words))
	}
	c := Cron{Seconds: 1, Text: strings.Join(words, " ")}
	fields := cronFields
	if len(words) == 5 {
		fields = fields[1:]
	}
	for i, f := range fields {
		set, isAny, err := f.read(words[i])
		if err != nil {
			return Schedule{}, bad(cronForm, "schedule %q: %v", spec, err)
		}
		switch f.name {
		case "second":
			c.Seconds = set
		case "minute":
			c.Minutes = set
		case "hour":
			c.Hours = uint32(set)
		case "day":
			c.Days, c.AnyDay = uint32(set), isAny
		case "month":
			c.Months = uint16(set)
		case "weekday":
			c.Weekdays, c.AnyWeekday = uint32(set|set>>7)&0x7f, isAny
		}
	}
	if c.AnyWeekday && !c.canFire() {
		return Schedule{}, bad("", "schedule %q: no year has such a day", spec)
	}
	return Schedule{Kind: KindCron, Cron: c}, nil
}

func parseAlias(spec string, words []string) (Schedule, error) {
	fields, known := aliases[words[0]]
	switch {
	case known && len(words) == 1:
		s, err := parseCron(fields)
		s.Cron.Text = words[0]
		return s, err
	case words[0] == "@every" && len(words) == 2:
		d, err := workflow.ParseDuration(words[1])
		switch every := time.Duration(d); {
		case err != nil:
			return Schedule{}, bad(`write it as "@every 90s" or "@every 1h30m"`, "schedule %q: %q is not a duration",
				spec, words[1])
		case every < time.Second || every%time.Second != 0:
			return Schedule{}, bad(secondsForm, "schedule %q: whole seconds, 1 or more, are needed", spec)
		case every/time.Second > MaxSeconds:
			return Schedule{}, bad("", "schedule %q: more than %d seconds (100 years)", spec, MaxSeconds)
		default:
			return Schedule{Kind: KindEvery, Every: every}, nil
		}
	}
	hint := diag.DidYouMean(strings.ToLower(words[0]), aliasNames)
	if hint == "" || known || words[0] == "@every" {
		hint = "write one of " + strings.Join(aliasNames[:len(aliasNames)-1], ", ") + ", or @every 90s"
	}
	return Schedule{}, bad(hint, "invalid schedule %q", spec)
}

// read returns the numbers of one field: `*`, `5`, `1-5`, `*/15`, `0-30/10`, names, and lists of
// them. isAny reports whether one of its items is a `*` without a step, or with the step 1.
func (f cronField) read(text string) (set uint64, isAny bool, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		low, high, by := f.low, f.high, 1
		switch first, last, isRange := strings.Cut(span, "-"); {
		case span == "*" || span == "?" && !stepped && (f.name == "day" || f.name == "weekday"):
			if f.name == "weekday" {
				high = 6
			}
		default:
			if low, err = f.number(first); err != nil {
				return 0, false, err
			}
			if isRange {
				if high, err = f.number(last); err != nil {
					return 0, false, err
				}
			} else if !stepped {
				high = low
			}
			if high < low {
				return 0, false, fmt.Errorf("the %s %q goes backwards", f.name, part)
			}
		}
		if stepped {
			n, ok := digits(step, 2)
			if !ok || n == 0 {
				return 0, false, fmt.Errorf("the step of the %s %q is not a number from 1 on", f.name, part)
			}
			by = n
		}
		isAny = isAny || by == 1 && (span == "*" || span == "?")
		for n := low; n <= high; n += by {
			set |= 1 << n
		}
	}
	return set, isAny, nil
}

func (f cronField) number(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return i + f.low, nil
		}
	}
	if n, ok := digits(text, 2); ok && n >= f.low && n <= f.high {
		return n, nil
	}
	return 0, fmt.Errorf("the %s is %s, not a number from %d to %d", f.name, strconv.Quote(text), f.low, f.high)
}

// canFire reports whether any of c's months has one of c's days.
func (c Cron) canFire() bool {
	for m := 1; m <= 12; m++ {
		if c.Months>>m&1 == 1 && bits.TrailingZeros32(c.Days) <= time.Date(2024, time.Month(m)+1, 0, 0, 0, 0, 0,
			time.UTC).Day() {
			return true
		}
	}
	return false
}

// matchesDay reports whether a date, represented by its midnight in UTC, matches c.
func (c Cron) matchesDay(day time.Time) bool {
	_, m, d := day.Date()
	inMonth, inWeek := c.Days>>d&1 == 1, c.Weekdays>>int(day.Weekday())&1 == 1
	if !c.AnyDay && !c.AnyWeekday {
		return c.Months>>int(m)&1 == 1 && (inMonth || inWeek)
	}
	return c.Months>>int(m)&1 == 1 && inMonth && inWeek
}

// cronDays is the number of days searched for the next time: there are at most eight years from one
// 29 February to the next, plus a margin.
const cronDays = 9*366 + searchDays

// allHours has the bit of every hour of the day set.
const allHours = 1<<24 - 1

// nextCron returns the first planned time later than after. If the expression matches every hour of
// a day, times follow the wall clock: a time shown twice counts twice, and a skipped time does not
// count. Otherwise times are calendar times, as for KindDaily: once on each day.
func (s Schedule) nextCron(after time.Time, loc *time.Location) time.Time {
	y, m, d := after.In(loc).Date()
	for i := -2; i < cronDays; i++ {
		day := time.Date(y, m, d+i, 0, 0, 0, 0, time.UTC) // only the date: UTC has every day
		if !s.Cron.matchesDay(day) || !exists(day, loc) {
			continue
		}
		var at time.Time
		if s.Cron.Hours == allHours {
			at = s.Cron.nextShown(after, day, loc)
		} else {
			at = s.Cron.nextOf(after, day, loc)
		}
		if !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// nextOf returns the first time on day that is later than after, or the zero time if there is none.
// It tries the times of the day in order, so an hour or a minute whose last second has passed is
// skipped immediately.
func (c Cron) nextOf(after, day time.Time, loc *time.Location) time.Time {
	at := func(h, m, s int) time.Time {
		return firstInstant(day.Add(time.Duration(h)*time.Hour+time.Duration(m)*time.Minute+time.Duration(s)*
			time.Second), loc)
	}
	for h := range 24 {
		if c.Hours>>h&1 == 0 || !at(h, 59, 59).After(after) {
			continue
		}
		for m := range 60 {
			if c.Minutes>>m&1 == 0 || !at(h, m, 59).After(after) {
				continue
			}
			for s := range 60 {
				if c.Seconds>>s&1 == 0 {
					continue
				}
				if t := at(h, m, s); t.After(after) {
					return t
				}
			}
		}
	}
	return time.Time{}
}

// nextShown returns the first instant on day, later than after, at which the wall clock shows one
// of c's minutes and seconds.
func (c Cron) nextShown(after, day time.Time, loc *time.Location) time.Time {
	t, end := firstInstant(day, loc), firstInstant(day.AddDate(0, 0, 1), loc)
	if !t.After(after) {
		t = after.Truncate(time.Second).Add(time.Second)
	}
	for t.Before(end) {
		local := t.In(loc)
		switch sec := local.Second(); {
		case c.Minutes>>local.Minute()&1 == 0:
			t = t.Add(time.Duration(60-sec) * time.Second)
		case c.Seconds>>sec&1 == 0:
			t = t.Add(time.Second)
		default:
			return local
		}
	}
	return time.Time{}
}

// missedCron returns the last times, at most limit, that are later than after and not later than
// until. It searches increasingly long periods before until, as there may be many or few times in
// them.
func (s Schedule) missedCron(after, until time.Time, loc *time.Location, limit int) []time.Time {
	for span := time.Duration(limit) * time.Second; ; span *= 4 {
		from := until.Add(-span)
		last := span > 20*366*24*time.Hour || !from.After(after)
		if last {
			from = after
		}
		var missed []time.Time
		for t := s.nextCron(from, loc); !t.IsZero() && !t.After(until); t = s.nextCron(t, loc) {
			missed = append(missed, t)
		}
		if n := len(missed); n > limit {
			return missed[n-limit:]
		} else if last || n == limit {
			return missed
		}
	}
}
