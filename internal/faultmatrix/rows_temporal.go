package faultmatrix

func temporalRows() []Row {
	return []Row{
		{
			Key: "temporal-worker", Failure: "a worker is killed with `kill -9`, in a call or at any other moment",
			Survives: all, Repeated: "calls that were under way", Asked: unknown,
			Takes: "10 s (the timeout of heartbeats) until another worker makes its calls",
			Tests: []string{"internal/e2e TestTemporalKills"},
		},
		{
			Key: "temporal-stopped", Failure: "a worker is stopped (`SIGSTOP`, a suspended machine) and continued",
			Survives: all + "; what it has when it is continued is dropped where others made its calls",
			Repeated: "calls that were under way", Asked: unknown,
			Takes: "10 s (the timeout of heartbeats) until another worker makes its calls",
			Tests: []string{"internal/e2e TestTemporalStopped"},
		},
		{
			Key:      "temporal-store",
			Failure:  "PostgreSQL is stopped under Temporal, and started again: fast, immediate, killed",
			Survives: all + "; workers keep the results of calls that end meanwhile", Repeated: nothing, Asked: nothing,
			Takes: "as long as the restart, and up to 10 s more",
			Tests: []string{"internal/e2e TestTemporalStoreRestarts"},
		},
		{
			Key:      "temporal-and-store",
			Failure:  "Temporal is killed and PostgreSQL stopped at once, both are started again",
			Survives: all, Repeated: "calls whose workers could give no sign for 10 s", Asked: unknown,
			Takes: "as long as the restart, and up to 10 s more", Tests: []string{"internal/e2e TestTemporalOutage"},
		},
		{
			Key: "temporal-killed", Failure: "Temporal is killed and started again",
			Survives: all + "; servers stay ready, and runs are started, answered and cancelled meanwhile",
			Repeated: "calls that are under way for 10 s without Temporal", Asked: unknown,
			Takes: "as long as the restart, and up to 10 s more", Tests: []string{"internal/e2e TestTemporalKilled"},
		},
		{
			Key: "temporal-restored", Failure: "Temporal is restored from yesterday's backup",
			Survives: all, Repeated: "calls that were under way at the restore", Asked: unknown,
			Takes: "up to 1 min for runs that the backup does not know",
			Tests: []string{"internal/e2e TestTemporalRestored"},
		},
		{
			Key: "temporal-reset", Failure: "a workflow is reset by hand",
			Survives: all, Repeated: "calls that were under way", Asked: unknown,
			Takes: "at once", Tests: []string{"temporal/internal/temporaldriver TestResetByHand"},
		},
		{
			Key: "temporal-terminated", Failure: "a workflow is terminated by hand",
			Survives: all, Repeated: "calls that were under way", Asked: unknown,
			Takes: "up to 1 min until another workflow is started",
			Tests: []string{"temporal/internal/temporaldriver TestTerminatedByHand"},
		},
	}
}
