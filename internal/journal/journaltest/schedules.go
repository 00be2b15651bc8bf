package journaltest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/journal"
)

func mustRegister(t *testing.T, h journal.Backend, r journal.Registration) {
	t.Helper()
	if err := h.Register(t.Context(), r); err != nil {
		t.Fatalf("register %s/%s: %v", r.Workflow, r.Branch, err)
	}
}

func registrations(t *testing.T, h journal.Backend) []journal.Registration {
	t.Helper()
	list, err := h.Registrations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func testSchedules(t *testing.T, m Medium) {
	a, b := handle(t, m), handle(t, m)
	if got := registrations(t, a); len(got) != 0 {
		t.Errorf("an empty store has %v", got)
	}
	full := journal.Registration{
		ScheduleKey: journal.ScheduleKey{Workflow: "w'2\x00", Branch: `b"`, Schedule: "s\x00"}, Version: 7,
		Mode: "interval", Spec: "60", TimeZone: "Europe/Berlin", Registered: at(1), Planned: at(2),
		CatchUpAfter: at(3), CatchUpTo: at(4), Run: "r1", Asked: at(5), Refused: at(6), Refusal: "no model\x00",
	}
	bare := journal.Registration{ScheduleKey: journal.ScheduleKey{Workflow: "w1", Branch: "z"}}
	fine := journal.Registration{ScheduleKey: journal.ScheduleKey{Workflow: "w1", Branch: ""},
		Registered: at(1).Add(1234567 * time.Nanosecond).In(time.FixedZone("", 3600))}
	programs := bare
	programs.Program, programs.Spec = "p\x00", "@daily" // with the same name as a stored workflow
	for _, r := range []journal.Registration{programs, bare, full, fine} {
		mustRegister(t, a, r)
	}
	fine.Registered = at(1).Add(1234 * time.Microsecond)
	for i, h := range []journal.Backend{a, b} {
		if diff := cmp.Diff([]journal.Registration{full, fine, bare, programs}, registrations(t, h)); diff != "" {
			t.Errorf("handle %d (-want +got):\n%s", i, diff)
		}
	}
	full.Planned, full.CatchUpAfter, full.CatchUpTo, full.Run = at(9), time.Time{}, time.Time{}, "r2"
	full.Refused, full.Refusal = time.Time{}, ""
	mustRegister(t, b, full)
	for _, key := range []journal.ScheduleKey{{Workflow: "w1", Branch: "z"}, {Workflow: "w1", Branch: "z"},
		{Workflow: "w1", Schedule: "other"}, {Workflow: "never"}, {Program: "q", Workflow: "w1", Branch: "z"}} {
		if err := a.Unregister(t.Context(), key); err != nil {
			t.Errorf("unregister %v: %v", key, err)
		}
	}
	if diff := cmp.Diff([]journal.Registration{full, fine, programs}, registrations(t, a)); diff != "" {
		t.Errorf("after changes (-want +got):\n%s", diff)
	}
	if err := a.Register(t.Context(), journal.Registration{ScheduleKey: journal.ScheduleKey{Branch: "b"}}); err == nil {
		t.Error("a schedule without a workflow is registered")
	}
}

func testLead(t *testing.T, m Medium) {
	reader, a, b := handle(t, m), m.Open(t), handle(t, m)
	leader := func() string {
		t.Helper()
		o, alive, err := reader.Leader(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(o.ID, " ", alive)
	}
	lead := func(h journal.Backend, want string) {
		t.Helper()
		if o, mine, err := h.Lead(t.Context(), "", ""); err != nil || o.ID != want || mine != (want == h.Owner().ID) {
			t.Fatalf("Lead gives %v, %v, %v; want %s", o, mine, err, want)
		}
	}
	if got := leader(); got != " false" {
		t.Errorf("at first the leader is %s", got)
	}
	lead(a, a.Owner().ID)
	first := a.Owner().ID
	lead(b, first)
	lead(a, first)
	if got := leader(); got != first+" true" {
		t.Errorf("the leader is %s, want %s", got, first)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if got := leader(); got != first+" false" {
		t.Errorf("after its end the leader is %s", got)
	}
	lead(b, b.Owner().ID)
	if got := leader(); got != b.Owner().ID+" true" {
		t.Errorf("the leader is %s, want %s", got, b.Owner().ID)
	}
}

// testLeadPrograms checks X-110: stored workflows and each program have their own scheduler; one
// process may be the scheduler of several. All schedulers count as living owners.
func testLeadPrograms(t *testing.T, m Medium) {
	reader, a, b := handle(t, m), m.Open(t), handle(t, m)
	lead := func(h journal.Backend, program, want string) {
		t.Helper()
		if o, mine, err := h.Lead(t.Context(), program, ""); err != nil || o.ID != want ||
			mine != (want == h.Owner().ID) {
			t.Fatalf("the scheduler of %q is %v, %v, %v; want %s", program, o, mine, err, want)
		}
	}
	first, second := a.Owner().ID, b.Owner().ID
	lead(a, "", first)
	lead(b, "p", second)
	lead(a, "p", second)
	lead(b, "", first)
	lead(a, "q\x00", first)
	owners, err := reader.Owners(t.Context())
	if err != nil || len(owners) != 2 {
		t.Errorf("owners %v, %v", owners, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]string{"": first + " false", "p": second + " true", "q\x00": first + " false",
		"r": " false"} {
		o, alive, err := reader.Leader(t.Context(), program)
		if got := fmt.Sprint(o.ID, " ", alive); got != want || err != nil {
			t.Errorf("the scheduler of %q is %s, %v; want %s", program, got, err, want)
		}
	}
	lead(b, "", second)
	lead(b, "p", second)
}

// testLeadConcurrent checks that if several processes start simultaneously, one leads and all know
// which.
func testLeadConcurrent(t *testing.T, m Medium) {
	const n = 4
	var (
		wg      sync.WaitGroup
		leaders [n]string
	)
	for i := range n {
		h := handle(t, m)
		wg.Go(func() {
			o, _, err := h.Lead(t.Context(), "", "")
			if err != nil {
				t.Error(err)
			}
			leaders[i] = o.ID
		})
	}
	wg.Wait()
	for _, id := range leaders {
		if id == "" || id != leaders[0] {
			t.Fatalf("leaders %v", leaders)
		}
	}
}
