package journaltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// Medium is the storage under test, with any number of handles.
type Medium struct {
	// Open returns a new handle, that is, a new owner. The suite closes it.
	Open func(t *testing.T) journal.Backend
	// Damage corrupts stored data without the knowledge of any handle.
	Damage func(t *testing.T, d Damage)
	// NoDeltas reports whether the store does not forward run output, because it reaches no other
	// process.
	NoDeltas bool
	// OwnedOnly reports whether the store rejects shared runs because it cannot hold them.
	OwnedOnly bool
}

// Damage is one corruption. Run and Seq identify the record that holds the event; Hash identifies a
// blob.
type Damage struct {
	Kind DamageKind
	Run  string
	Seq  uint64
	Hash string
}

// DamageKind is the kind of corruption.
type DamageKind string

// The kinds of corruption.
const (
	FlipRecord  DamageKind = "flip a bit of a record"
	DropRecord  DamageKind = "drop a record"
	NewerRecord DamageKind = "raise the version of a record"
	FlipBlob    DamageKind = "flip a bit of a blob"
)

// Run checks that a store behaves as package journal specifies. open returns an empty medium for
// each test.
func Run(t *testing.T, open func(t *testing.T) Medium) {
	tests := []struct {
		name string
		test func(t *testing.T, m Medium)
	}{
		{"append and read", testAppendRead},
		{"append of several records", testAppendParts},
		{"append refuses", testAppendRefuses},
		{"append is atomic", testAppendAtomic},
		{"append keeps no slices", testSlices},
		{"done context", testContext},
		{"appends at once", testAppendConcurrent},
		{"appends to one run at once", testAppendContended},
		{"blobs", testBlobs},
		{"each", testEach},
		{"parts", testParts},
		{"head", testHead},
		{"list filters", testListFilters},
		{"labels and outcomes", testFindHeads},
		{"labels, searches and counts", testFind},
		{"searches of runs that change", testFindChanges},
		{"searches as in memory", testFindAsMemory},
		{"list pages", testListPages},
		{"list takes any text", testListText},
		{"sessions", testSessions},
		{"runs of one session at once", testSessionContended},
		{"notices", testNotices},
		{"count", testCount},
		{"claim", testClaim},
		{"claim at once", testClaimConcurrent},
		{"fencing", testFencing},
		{"release", testRelease},
		{"signs of life", testSigns},
		{"evict", testEvict},
		{"runs held in common", testCommon},
		{"runs held in common by many at once", testCommonContended},
		{"interrupted", testInterrupted},
		{"claim some", testClaimSome},
		{"claim some at once", testClaimSomeConcurrent},
		{"return", testReturn},
		{"return in an append", testReturnInAppend},
		{"places", testPlaces},
		{"processes", testProcesses},
		{"prune by age", testPruneAge},
		{"prune by name", testPruneNamed},
		{"prune keeps shared blobs", testPruneBlobs},
		{"inbox", testInbox},
		{"inbox of a dead owner", testInboxDeadOwner},
		{"requests to runs without owner", testUnclaimed},
		{"changes", testChanges},
		{"changes of what can be claimed", testChangesWaiting},
		{"changes are not missed", testChangesNotMissed},
		{"changes are joined", testChangesJoined},
		{"death of an owner is a change", testChangesDeath},
		{"changes of a closed handle", testChangesClose},
		{"deltas", testDeltas},
		{"lines", testLines},
		{"lines that are entered at once", testLinesAtOnce},
		{"lines without dead owners", testLinesOfDead},
		{"lines are signalled", testLinesSignalled},
		{"slots", testSlots},
		{"slots of dead owners", testSlotsOfDead},
		{"slots at once", testSlotsAtOnce},
		{"schedules", testSchedules},
		{"controls of schedules", testControls},
		{"lead", testLead},
		{"lead programs", testLeadPrograms},
		{"lead at once", testLeadConcurrent},
		{"lead in place of a process that hangs", testLeadHung},
		{"damage", testDamage},
		{"close", testClose},
		{"law", testLaw},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, open(t))
		})
	}
}

// epoch0 is the time at which the suite's clock starts.
var epoch0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return epoch0.Add(time.Duration(minutes) * time.Minute) }

func handle(t *testing.T, m Medium) journal.Backend {
	t.Helper()
	h := m.Open(t)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

func record(first, last uint64) journal.Record {
	return journal.Record{First: first, Last: last, Data: fmt.Appendf(nil, "events %d to %d", first, last)}
}

// create returns an append that creates a run with one event.
func create(run string, minutes int) journal.Append {
	return journal.Append{
		Run: run,
		Create: &journal.NewRun{Workflow: "flow", WorkflowName: "Flow", Format: "steps", Kind: journal.KindRun,
			Created: at(minutes)},
		Record: record(1, 1),
		At:     at(minutes),
		Status: journal.StatusRunning,
	}
}

// next returns an append of one event to a run in epoch 1.
func next(run string, seq uint64) journal.Append {
	return journal.Append{Run: run, Epoch: 1, Record: record(seq, seq), At: at(int(seq)), Status: journal.StatusRunning}
}

func mustAppend(t *testing.T, s journal.Log, as ...journal.Append) {
	t.Helper()
	for _, a := range as {
		if err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
}

// checkRejected checks that an operation that must change nothing failed with the error want.
func checkRejected(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// ids returns the runs of a list as one line.
func ids(heads []journal.Head) string {
	var s []string
	for _, h := range heads {
		s = append(s, h.Run)
	}
	return strings.Join(s, " ")
}

func head(t *testing.T, s journal.Lists, run string) journal.Head {
	t.Helper()
	h, err := s.Head(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// dump returns a run's records as a string. If the results of Each and Read differ, the string says
// so.
func dump(ctx context.Context, s journal.Backend, run string, after uint64) (string, error) {
	records, err := s.Read(ctx, run, after)
	var streamed []journal.Record
	serr := s.Each(ctx, run, after, func(r journal.Record) error {
		streamed = append(streamed, r)
		return nil
	})
	if err != nil {
		if serr == nil || serr.Error() != err.Error() {
			err = errors.Join(err, fmt.Errorf("but Each gives %w", serr))
		}
		return "", err
	}
	text := lines(records)
	if got := lines(streamed); got != text || serr != nil {
		text += fmt.Sprintf(" but Each gives %s, %v", got, serr)
	}
	return text, nil
}

func lines(records []journal.Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "[%d-%d v%d %s]", r.First, r.Last, r.Version, r.Data)
	}
	return b.String()
}
