package drivertest

import (
	"testing"
	"testing/synctest"
)

// Part is a part of the suite.
type Part string

// The parts of the suite.
const (
	// PartCore covers what every driver does: runs from start to end, cancellation, retries,
	// watching.
	PartCore Part = "core"
	// PartInterrupt covers one process that drives a run and releases it on request.
	PartInterrupt Part = "interrupt"
	// PartPace covers the calls of many runs being in flight concurrently (P40).
	PartPace Part = "pace"
	// PartPeople covers answers, approvals, deadlines and reminders.
	PartPeople Part = "people"
	// PartCrash covers processes that die, and stores that fail, at every write.
	PartCrash Part = "crash"
	// PartOwnership covers several processes that share runs.
	PartOwnership Part = "ownership"
	// PartSharing covers processes that continue each other's runs, depending on place and
	// capacity, and processes that drive nothing.
	PartSharing Part = "sharing"
	// PartNotes covers sub-steps of functions.
	PartNotes Part = "notes"
	// PartLedgers covers budgets of runs and of their child runs.
	PartLedgers Part = "ledgers"
	// PartPrograms covers functions that only some of the processes have.
	PartPrograms Part = "programs"
	// PartFork and PartExport cover runs made from the journals of other runs, which the driver
	// continues.
	PartFork   Part = "fork"
	PartExport Part = "export"
)

// Driver declares a driver to the suite.
type Driver struct {
	// Open creates an empty cluster.
	Open func(t *testing.T) Cluster
	// Lacks maps each part that the driver does not support to the reason, which is shown when its
	// tests are skipped.
	Lacks map[Part]string
	// RealTime runs the tests on the system's clock, for drivers with goroutines that block outside
	// the process, which would stop the clock of a synctest bubble. Tests that need days to pass,
	// or to know that nothing more happens, are then skipped. If false, each test runs in a bubble.
	RealTime bool
}

// needsBubble is the reason why a test is skipped in real time.
type needsBubble string

const (
	anyTime needsBubble = ""
	long    needsBubble = "it waits for longer than a test may take"
	idle    needsBubble = "it waits until nothing happens any more, which a bubble alone tells"
)

type test struct {
	part   Part
	name   string
	fn     func(t *testing.T, c Cluster)
	bubble needsBubble
}

// tests returns all tests of the suite.
func tests() []test {
	return []test{
		{PartCore, "linear run", testLinear, anyTime},
		{PartCore, "parallel branches", testParallel, long},
		{PartCore, "start is refused", testStartRefused, anyTime},
		{PartPeople, "answers in every order (P1)", testAnswerOrders, idle},
		{PartPeople, "question of a function (S2-52)", testAsk, anyTime},
		{PartCrash, "question of a function, faults at every write (S2-52)", testAskFaults, long},
		{PartPeople, "double and late answers (P24)", testDoubleAnswers, anyTime},
		{PartPeople, "answer refused changes nothing", testAnswerRefused, idle},
		{PartPeople, "approve all (D24)", testApproveAll, idle},
		{PartPeople, "deadline in memory (D21)", testDeadline, idle},
		{PartPeople, "deadline after a restart (D21)", testDeadlineRestart, idle},
		{PartPeople, "timeout of a step after a restart (X-19)", testTimeoutRestart, idle},
		{PartPeople, "deadline at the next touch (D21)", testDeadlineTouch, long},
		{PartPeople, "deadline of a run that another process left (D21, P33)", testDeadlineOfOthers, idle},
		{PartPeople, "reminders (P33)", testReminders, idle},
		{PartCore, "cancel (P11)", testCancel, idle},
		{PartCore, "cancel of a deaf call (P11)", testCancelDeaf, idle},
		{PartCore, "cancel of a paused run", testCancelPaused, anyTime},
		{PartCrash, "cancel of an interrupted run", testCancelInterrupted, idle},
		{PartCore, "functions of a cancelled run finish (S2-36)", testCancelFunc, idle},
		{PartCore, "cancel of a deaf function (P11)", testCancelDeafFunc, idle},
		{PartCrash, "cancel of functions, faults at every write (D7)", testCancelFuncFaults, idle},
		{PartCore, "time limit of a deaf call (P11)", testDeafTimeout, long},
		{PartCore, "late result of a loser (D10)", testLateResult, long},
		{PartCore, "panics stay in their call", testPanics, anyTime},
		{PartCore, "retries sleep without a slot (P14)", testRetrySlots, idle},
		{PartPace, "200 slow runs at once (P40)", testManyRuns, anyTime},
		{PartInterrupt, "close interrupts, resume goes on", testInterrupt, idle},
		{PartCrash, "kill at every write (P4, D8)", testKillEverywhere, long},
		{PartCrash, "failing writes (D7)", testFailingWrites, long},
		{PartCrash, "lost tool calls (P12)", testLostTools, idle},
		{PartPeople, "tool calls that a person decides about (P8, P24)", testHeldCalls, anyTime},
		{PartCrash, "approved calls that are lost (P12)", testHeldAfterApproval, idle},
		{PartCrash, "tools are restored after a restart", testRestore, idle},
		{PartOwnership, "fenced owner (P18)", testFenced, idle},
		{PartOwnership, "fenced owner does not refuse (P18)", testFencedRefusal, idle},
		{PartOwnership, "owner that hangs (D15, P18)", testHung, idle},
		{PartOwnership, "owners that live are left alone (D15)", testNotHung, long},
		{PartOwnership, "run taken from its owner (P18)", testTakeOver, idle},
		{PartOwnership, "two resume one run (P18)", testTwoResume, idle},
		{PartOwnership, "recover many", testRecoverMany, idle},
		{PartOwnership, "answer and cancel another process's run (D16)", testInbox, idle},
		{PartOwnership, "inbox of an owner that dies (D16)", testInboxDeath, idle},
		{PartPeople, "signals (X-22, X-23, X-24)", testSignals, idle},
		{PartCrash, "signals, with a kill at every write (X-23, X-24)", testSignalKills, long},
		{PartPeople, "a signal after the deadline (D21)", testSignalDeadlines, long},
		{PartCore, "watch from every event (P22)", testWatchEverywhere, anyTime},
		{PartOwnership, "watch another process's run", testWatchRemote, idle},
		{PartCore, "deltas (P22)", testDeltas, anyTime},
		{PartCore, "reopen after a limit (D20)", testReopen, anyTime},
		{PartCore, "long run (P6)", testLong, long},
		{PartCore, "node functions", testFuncs, anyTime},
		{PartCore, "map (X-33, X-34, X-36)", testMap, anyTime},
		{PartOwnership, "map whose process dies (X-36)", testMapDeath, idle},
		{PartNotes, "notes of sub-steps, faults at every write (D7, D8)", testNotes, long},
		{PartNotes, "notes that are refused", testNotesRefused, idle},
		{PartNotes, "notes while the run is interrupted", testNotesInterrupted, idle},
		{PartCore, "run's model and files are kept (D19)", testKept, anyTime},
		{PartExport, "import elsewhere (S2-63)", testImport, anyTime},
		{PartExport, "import of a run that is there", testImportTwice, anyTime},
		{PartExport, "import refused (P17)", testImportRefused, anyTime},
		{PartFork, "fork", testFork, anyTime},
		{PartFork, "fork of a queued run", testQueueFork, anyTime},
		{PartCore, "queued runs (X-107)", testQueue, anyTime},
		{PartCore, "order of queued runs (X-107)", testQueueOrder, anyTime},
		{PartCore, "queued runs whose process dies (X-107)", testQueueDeath, anyTime},
		{PartCore, "launch and follow", testLaunch, anyTime},
		{PartInterrupt, "interrupt of one run", testInterruptOne, anyTime},
		{PartCore, "injected clock", testClock, anyTime},
		{PartPrograms, "answers left for a program (D29)", testForeign, anyTime},
		{PartSharing, "start and answer where nothing is driven", testNoDrive, idle},
		{PartSharing, "start and answer where nothing is driven, deaths after an append", testNoDriveDies, idle},
		{PartSharing, "start where nothing is driven, faults at every write", testNoDriveFaults, long},
		{PartSharing, "room", testRoom, idle},
		{PartSharing, "place", testPlace, idle},
		{PartSharing, "100 runs and three processes", testClaimed, anyTime},
		{PartSharing, "takeover within a second", testTakeover, long},
		{PartSharing, "drain", testDrain, long},
		{PartSharing, "drain that takes too long", testDrainLimit, long},
		{PartSharing, "claim whose answer is lost", testLostClaim, anyTime},
		{PartLedgers, "extend after the parent's budget (P20)", testExtend, anyTime},
	}
}

// Run runs the suite.
func Run(t *testing.T, d Driver) {
	for _, tt := range tests() {
		t.Run(string(tt.part)+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			if reason, ok := d.Lacks[tt.part]; ok {
				t.Skip("the driver does not have this part: " + reason)
			}
			if !d.RealTime {
				synctest.Test(t, func(t *testing.T) { tt.fn(t, d.Open(t)) })
				return
			}
			if tt.bubble != anyTime {
				t.Skip("not in real time: " + string(tt.bubble))
			}
			tt.fn(t, d.Open(t))
		})
	}
}
