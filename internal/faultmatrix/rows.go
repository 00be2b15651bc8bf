package faultmatrix

// Texts shared by rows.
const (
	nothing = "nothing"
	all     = "everything"
	// takeover is how long the takeover of a run takes; unknown is what a person is asked after a
	// call with an unknown outcome (P12).
	takeover = "about 1 s until another server continues its runs"
	unknown  = "the outcome of a tool call that was under way, where the tool is not safe to repeat"
)

// Parts returns the rows of the matrix, grouped by what fails.
func Parts() []Part {
	return []Part{
		{"A process of Hocket", processRows()},
		{"PostgreSQL", databaseRows()},
		{"Temporal, where it carries runs", temporalRows()},
		{"The network and the clock", otherRows()},
	}
}

func processRows() []Row {
	return []Row{
		{
			Key: "killed-in-call", Failure: "killed with `kill -9` in a call, or at any other moment",
			Survives: all, Repeated: "calls that were under way", Asked: unknown,
			Takes: takeover, Tests: []string{"internal/e2e TestClusterKills"},
		},
		{
			Key: "killed-before-append", Failure: "killed with `kill -9` before PostgreSQL has the result of a call",
			Survives: "all but that result", Repeated: "that call", Asked: unknown,
			Takes: takeover, Tests: []string{"internal/e2e TestKilledInAppend"},
		},
		{
			Key: "killed-in-commit", Failure: "killed with `kill -9` while PostgreSQL commits the result of a call",
			Survives: all, Repeated: nothing, Asked: nothing,
			Takes: takeover, Tests: []string{"internal/e2e TestKilledInAppend"},
		},
		{
			Key: "killed-after-append", Failure: "killed with `kill -9` after the commit, before it knows",
			Survives: all, Repeated: nothing, Asked: nothing,
			Takes: takeover, Tests: []string{"internal/e2e TestKilledInAppend"},
		},
		{
			Key: "stopped", Failure: "stopped (`SIGSTOP`, a suspended machine) and continued",
			Survives: all + "; what it does after it was continued is refused where others took its runs",
			Repeated: "calls that were under way", Asked: unknown,
			Takes: "`takeOverAfter` (30 s) until another server continues its runs and schedules",
			Tests: []string{"internal/e2e TestStopped"},
		},
		{
			Key: "vanished", Failure: "its machine vanishes: no end of its connections reaches PostgreSQL",
			Survives: all, Repeated: "calls that were under way", Asked: unknown,
			Takes: "11 s until PostgreSQL ends its session",
			Tests: []string{"internal/store/postgres TestMachineVanishes", "internal/e2e TestMachineUnplugged"},
		},
		{
			Key: "killed-leading", Failure: "killed with `kill -9` while it starts runs of schedules",
			Survives: all, Repeated: "calls that were under way; no planned time has two runs", Asked: unknown,
			Takes: "about 1 s until another server leads", Tests: []string{"internal/e2e TestPair"},
		},
		{
			Key: "two-releases", Failure: "servers of two neighbouring releases on one store",
			Survives: all + "; runs whose events the older release cannot read wait for a server of the newer one",
			Repeated: nothing, Asked: nothing,
			Takes: "nothing waits for the other release but such runs", Tests: []string{"internal/e2e TestTwoReleases"},
		},
	}
}

func databaseRows() []Row {
	return []Row{
		{
			Key: "restarted", Failure: "restarted: fast, immediate, killed",
			Survives: all, Repeated: nothing, Asked: nothing,
			Takes: "as long as the restart",
			Tests: []string{"internal/e2e TestDatabaseRestarts", "internal/store/postgres TestServerRestarts"},
		},
		{
			Key: "disk-full", Failure: "its disk is full",
			Survives: "all that is stored; runs wait, new ones are refused with status 503", Repeated: nothing,
			Asked: nothing,
			Takes: "until there is room; start PostgreSQL where it ended",
			Tests: []string{"internal/e2e TestDatabaseDiskFull"},
		},
		{
			Key:      "refuses-later",
			Failure:  "its password, rights or limits are changed under the servers, or it becomes read-only",
			Survives: "all that is stored; runs wait, new ones are refused with status 503", Repeated: nothing,
			Asked: nothing,
			Takes: "until it accepts the servers again; after a change of the password, restart them",
			Tests: []string{"internal/e2e TestBadStoreLater"},
		},
		{
			Key: "failover-synchronous", Failure: "killed; its synchronous replica is promoted",
			Survives: all, Repeated: nothing, Asked: nothing,
			Takes: "a few seconds after the promotion, where the URL names both hosts",
			Tests: []string{"internal/e2e TestDatabaseFailover"},
		},
		{
			Key:     "failover-asynchronous",
			Failure: "killed; an asynchronous replica is promoted that lacks the last commits",
			Survives: "what the replica has. A run in the memory of a server fails with `events_lost`, which names " +
				"the lost events; one that is missing is named in the log",
			Repeated: "calls of runs that no server had in memory, of tools too, from where the replica ends",
			Asked:    "to look what the calls of the failed runs did, and to retry the runs",
			Takes:    "a few seconds after the promotion, where the URL names both hosts",
			Tests:    []string{"internal/e2e TestDatabaseFailoverLost"},
		},
	}
}

func otherRows() []Row {
	return []Row{
		{
			Key:      "cut",
			Failure:  "a connection is cut half-open for less than `takeOverAfter`, then goes on or is reset",
			Survives: all, Repeated: nothing, Asked: nothing,
			Takes: "until it goes on, or is reset", Tests: []string{"internal/e2e TestDatabaseCutHalfOpen"},
		},
		{
			Key: "cut-in-append", Failure: "a connection is lost in an append, before or after the commit",
			Survives: all, Repeated: nothing, Asked: nothing,
			Takes: "one reconnection", Tests: []string{"internal/store/postgres TestLostInAppend"},
		},
		{
			Key: "clock-back", Failure: "the clock of a machine is set back an hour, or the clocks of machines differ",
			Survives: all + "; no planned time has two runs", Repeated: nothing, Asked: nothing,
			Takes: "runs continue at once; schedules where the clock comes to the next planned time",
			Tests: []string{"internal/e2e TestClockChanged"},
		},
	}
}
