package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"
)

// TestSchedulesOfPrograms checks X-111: schedules of Go programs are listed with their program and
// controlled by the name of their graph; with two programs, one must be named.
func TestSchedulesOfPrograms(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", nil)
	d.OutTerminal, d.ErrTerminal = false, false
	home, err := store.Open(t.Context(), d.env["HOCKET_DB"], store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, key := range []journal.ScheduleKey{{Program: "billing", Workflow: "reports", Schedule: "nightly"},
		{Program: "mail", Workflow: "reports", Schedule: "nightly"}, {Program: "mail\x1b[2J", Workflow: "digest"}} {
		if err := home.Journal.Register(t.Context(), journal.Registration{ScheduleKey: key, Mode: "interval",
			Spec: "0 2 * * *", TimeZone: "Europe/Berlin", Registered: day, Planned: day}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := home.Journal.Lead(t.Context(), "mail", ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   []string
	}{
		{"schedule list", cli.ExitOK, []string{"PROGRAM ", "WORKFLOW ", "billing ", "nightly ", "0 2 * * * ",
			"Europe/Berlin ", "no process of program billing is running its schedules",
			`no process of program mail[2J is running`}},
		{"schedule list --json", cli.ExitOK,
			[]string{`{"program":"billing","workflow":"reports","branch":null,"id":"nightly"`}},
		{"schedule pause reports", cli.ExitUse,
			[]string{`several programs schedule a graph reports: "billing", "mail"; name one with --program`}},
		{"schedule pause reports --schedule nightly", cli.ExitUse, []string{`name one with --program`}},
		{"schedule pause reports --program mail", cli.ExitOK, []string{"reports#nightly of mail: paused"}},
		{"schedule list", cli.ExitOK, []string{"paused by local"}},
		{"schedule run digest", cli.ExitOK, []string{"01", "no process of program mail[2J is running its schedules"}},
		{"schedule pause reports --program other", cli.ExitUse, []string{`workflow reports has no schedule`}},
	} {
		var out, errs buffer
		streams := d.Streams
		streams.Out, streams.Err = &out, &errs
		status := cli.Main(t.Context(), strings.Fields(c.args), streams, d.wiring)
		text := out.String() + errs.String()
		for _, want := range c.want {
			if status != c.status || !strings.Contains(text, want) {
				t.Errorf("hocket %s: status %d\n%s\nwant %d, %s", c.args, status, text, c.status, want)
			}
		}
	}
}
