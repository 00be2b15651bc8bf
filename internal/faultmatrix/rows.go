package faultmatrix

// Texts that rows share.
const (
	nothing = "nothing"
	all     = "everything"
	// unknown is what is asked after a call whose outcome is not known (P12).
	unknown = "the outcome of a tool call that was under way, where the tool is not safe to repeat"
)

// Parts are the rows of the matrix, by what fails.
func Parts() []Part {
	return []Part{
		{"A process of Hocket", processRows()},
		{"PostgreSQL", databaseRows()},
		{"The network and the clock", otherRows()},
	}
}

func processRows() []Row {
	return []Row{
		{
			Key: "killed-in-call", Failure: "killed with `kill -9` in a call, or at any other moment",
			Survives: all, Repeated: "calls that were under way", Asked: unknown,
			Takes: "up to 5 s until another server continues its runs", Tests: []string{"internal/e2e TestClusterKills"},
		},
		{
			Key: "vanished", Failure: "its machine vanishes: no end of its connections reaches PostgreSQL",
			Survives: all, Repeated: "calls that were under way", Asked: unknown,
			Takes: "11 s until PostgreSQL ends its session", Tests: []string{"internal/store/postgres TestMachineVanishes"},
		},
		{
			Key: "killed-leading", Failure: "killed with `kill -9` while it starts runs of schedules",
			Survives: all, Repeated: "calls that were under way; no planned time has two runs", Asked: unknown,
			Takes: "up to 5 s until another server leads", Tests: []string{"internal/e2e TestPair"},
		},
	}
}

func databaseRows() []Row {
	return []Row{
		{
			Key: "restarted", Failure: "restarted: fast, immediate, killed",
			Survives: all, Repeated: nothing, Asked: nothing,
			Takes: "as long as the restart", Tests: []string{"internal/store/postgres TestServerRestarts"},
		},
	}
}

func otherRows() []Row {
	return []Row{
		{
			Key: "cut-in-append", Failure: "a connection is lost in an append, before or after the commit",
			Survives: all, Repeated: nothing, Asked: nothing,
			Takes: "one reconnection", Tests: []string{"internal/store/postgres TestLostInAppend"},
		},
	}
}
