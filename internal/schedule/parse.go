package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

// Kind is the form of a schedule.
type Kind string

const (
	// KindNever is the kind of one_time schedules: nothing starts automatically (S1-22).
	KindNever Kind = "never"
	// KindEvery fires at a fixed interval in seconds, counted from the registration (S1-30, S1-37).
	KindEvery Kind = "every"
	// KindDaily fires each local day at a given time (S1-31).
	KindDaily Kind = "daily"
	// KindWeekly fires at local midnight of the listed days (S1-32, S1-33).
	KindWeekly Kind = "weekly"
	// KindCron fires at the local times of a cron expression.
	KindCron Kind = "cron"
	// KindContinuous has no planned times: the next run starts a delay after the previous one ends
	// (S1-23).
	KindContinuous Kind = "continuous"
)

// DefaultDelay is the pause between two runs of a continuous branch that specifies none (S1-23).
const DefaultDelay = time.Second

// MaxSeconds is the maximum length of intervals and delays: 100 years.
const MaxSeconds = 100 * 365 * 24 * 60 * 60

// Schedule is a parsed schedule. The zero Schedule never fires. It is a value: copy and compare it
// freely.
type Schedule struct {
	Kind Kind
	// Every is the period of KindEvery and the delay of KindContinuous.
	Every time.Duration
	// Hour and Minute are the local time of KindDaily.
	Hour, Minute int
	// Days are the listed days of KindWeekly; index 0 is Sunday.
	Days [7]bool
	// Cron holds the times of KindCron.
	Cron Cron
}

// Codes of schedule errors.
const (
	CodeUnknownMode     = "unknown-mode"
	CodeMissingSchedule = "missing-schedule"
	CodeBadSchedule     = "bad-schedule"
	CodeUnknownZone     = "unknown-time-zone"

	CodeTooMany   = "too-many-schedules"
	CodeDuplicate = "duplicate-schedule-id"
	CodeInputs    = "schedule-inputs"
	CodeConflict  = "schedule-conflict"
)

// Error describes an error in a schedule or a time zone. Code is one of the Code constants; Hint
// may be empty.
type Error struct{ Code, Message, Hint string }

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

func bad(hint, format string, args ...any) error {
	return &Error{CodeBadSchedule, fmt.Sprintf(format, args...), hint}
}

// modes are the names of the modes, in the order in which messages list them.
var modes = []string{workflow.ModeOneTime, workflow.ModeInterval, workflow.ModeContinuous}

const (
	forms       = `a schedule is a number of seconds ("60"), "daily@HH:mm" or "weekly@d1,d2" with 0 for Sunday`
	delayForm   = `the delay between two runs is a whole number of seconds ("5"); without one it is one second`
	dailyForm   = `write it as "daily@09:00", from 00:00 to 23:59`
	weeklyForm  = `write days as numbers from 0 (Sunday) to 6 (Saturday), as in "weekly@1,3,5"`
	secondsForm = `write whole seconds, 1 or more, as in "60"`
)

// Parse parses the mode and the schedule of a workflow or branch. An empty mode means one_time
// (S1-27), whose spec is ignored: it never fires (S1-22). Blanks around spec and around the parts
// of a calendar form are ignored, so " " is an absent spec.
//
// Parse returns an *[Error] for the first problem, and the zero Schedule. Source: S1-22, S1-23,
// S1-27, S1-30, S1-31, S1-32, S1-39.
func Parse(mode, spec string) (Schedule, error) {
	spec = strings.TrimSpace(spec)
	switch mode {
	case "", workflow.ModeOneTime:
		return Schedule{Kind: KindNever}, nil
	case workflow.ModeContinuous:
		return parseDelay(spec)
	case workflow.ModeInterval:
		return parseInterval(spec)
	}
	hint := diag.DidYouMean(strings.ToLower(mode), modes)
	if hint == "" {
		hint = "write one_time, interval or continuous"
	}
	return Schedule{}, &Error{CodeUnknownMode, fmt.Sprintf("unknown execution mode %q", mode), hint}
}

func parseDelay(spec string) (Schedule, error) {
	if spec == "" {
		return Schedule{Kind: KindContinuous, Every: DefaultDelay}, nil
	}
	if strings.Contains(spec, "@") {
		return Schedule{}, bad(`for a calendar use the mode "interval"; `+delayForm,
			"schedule %q: a continuous branch has no calendar", spec)
	}
	d, err := parseSeconds(spec, delayForm)
	if err != nil {
		return Schedule{}, err
	}
	return Schedule{Kind: KindContinuous, Every: d}, nil
}

func parseInterval(spec string) (Schedule, error) {
	if spec == "" {
		return Schedule{}, &Error{CodeMissingSchedule, "the mode interval needs a schedule", forms}
	}
	if isCron(spec) {
		return parseCron(spec)
	}
	form, rest, calendar := strings.Cut(spec, "@")
	if !calendar {
		if len(spec) > 0 && (spec[0] < '0' || spec[0] > '9') && spec[0] != '-' && spec[0] != '+' && spec[0] != '.' {
			return Schedule{}, bad(forms, "invalid schedule %q", spec)
		}
		d, err := parseSeconds(spec, forms)
		if err != nil {
			return Schedule{}, err
		}
		return Schedule{Kind: KindEvery, Every: d}, nil
	}
	switch form = strings.TrimSpace(form); form {
	case "daily":
		return parseDaily(spec, strings.TrimSpace(rest))
	case "weekly":
		return parseWeekly(spec, rest)
	}
	hint := diag.DidYouMean(strings.ToLower(form), []string{"daily", "weekly"})
	if hint == "" {
		hint = forms
	}
	return Schedule{}, bad(hint, "schedule %q: %q is not a form of schedule", spec, form)
}

// digits returns s as a number if it consists of one to limit decimal digits.
func digits(s string, limit int) (int, bool) {
	if s == "" || len(s) > limit || strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func parseSeconds(spec, form string) (time.Duration, error) {
	body := strings.TrimLeft(spec, "0")
	n, ok := digits(body, 10)
	switch {
	case ok && n <= MaxSeconds:
		return time.Duration(n) * time.Second, nil
	case body == "":
		return 0, bad(secondsForm, "schedule %q: seconds must be 1 or more", spec)
	case strings.HasPrefix(spec, "-"):
		if _, ok := digits(spec[1:], len(spec)); ok {
			return 0, bad(secondsForm, "schedule %q: seconds must be 1 or more", spec)
		}
	case ok || !strings.ContainsFunc(body, func(r rune) bool { return r < '0' || r > '9' }):
		return 0, bad("", "schedule %q: more than %d seconds (100 years)", spec, MaxSeconds)
	}
	return 0, bad(form, "schedule %q is not a whole number of seconds", spec)
}

func parseDaily(spec, rest string) (Schedule, error) {
	hh, mm, ok := strings.Cut(rest, ":")
	h, hok := digits(hh, 2)
	m, mok := digits(mm, 2)
	switch {
	case rest == "":
		return Schedule{}, bad(dailyForm, "schedule %q has no time of day", spec)
	case !ok && hok && h < 24:
		return Schedule{}, bad(fmt.Sprintf(`did you mean "daily@%02d:00"?`, h), "schedule %q: %q is not a time of day",
			spec, rest)
	case !hok || !mok:
		return Schedule{}, bad(dailyForm, "schedule %q: %q is not a time of day", spec, rest)
	case h == 24 && m == 0:
		return Schedule{}, bad(`midnight is "daily@00:00"`, "schedule %q: the hour is 24, the last one of a day is 23",
			spec)
	case h > 23:
		return Schedule{}, bad(dailyForm, "schedule %q: the hour is %d, the last one of a day is 23", spec, h)
	case m > 59:
		return Schedule{}, bad(dailyForm, "schedule %q: the minute is %d, the last one of an hour is 59", spec, m)
	case len(mm) != 2:
		return Schedule{}, bad(fmt.Sprintf(`did you mean "daily@%02d:%02d"?`, h, m),
			"schedule %q: minutes have two digits", spec)
	}
	return Schedule{Kind: KindDaily, Hour: h, Minute: m}, nil
}

// dayNames are the day names that people write, cut to their first three letters.
var dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func parseWeekly(spec, rest string) (Schedule, error) {
	s := Schedule{Kind: KindWeekly}
	if strings.TrimSpace(rest) == "" {
		return Schedule{}, bad(weeklyForm, "schedule %q lists no day", spec)
	}
	for day := range strings.SplitSeq(rest, ",") {
		day = strings.TrimSpace(day)
		n, ok := digits(day, 1)
		switch {
		case ok && n < 7:
			s.Days[n] = true
		case day == "":
			return Schedule{}, bad(weeklyForm, "schedule %q: a day is missing between commas", spec)
		case day == "7":
			return Schedule{}, bad("Sunday is 0", `schedule %q: "7" is not a day`, spec)
		default:
			return Schedule{}, bad(dayHint(day), "schedule %q: %q is not a day", spec, day)
		}
	}
	return s, nil
}

func dayHint(day string) string {
	low := strings.ToLower(day)
	for n, name := range dayNames {
		if strings.HasPrefix(low, name) {
			return fmt.Sprintf("write days as numbers from 0 (Sunday) to 6 (Saturday); this one is %d", n)
		}
	}
	return weeklyForm
}

// String returns the schedule in the simplest form that Parse accepts; "" for a schedule that never
// fires.
func (s Schedule) String() string {
	switch s.Kind {
	case KindEvery, KindContinuous:
		return strconv.FormatInt(int64(s.Every/time.Second), 10)
	case KindCron:
		return s.Cron.Text
	case KindDaily:
		return fmt.Sprintf("daily@%02d:%02d", s.Hour, s.Minute)
	case KindWeekly:
		var days []string
		for n, on := range s.Days {
			if on {
				days = append(days, strconv.Itoa(n))
			}
		}
		return "weekly@" + strings.Join(days, ",")
	default:
		return ""
	}
}

// IsTimed reports whether s has planned times; continuous and one_time schedules have none.
func (s Schedule) IsTimed() bool {
	return s.Kind == KindEvery || s.Kind == KindDaily || s.Kind == KindWeekly || s.Kind == KindCron
}
