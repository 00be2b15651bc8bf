// Package scheduler starts runs of stored workflows according to their schedules.
//
// It does not know how a workflow is stored, parsed or run: those are ports. It keeps no schedule
// only in memory, and it never marks a planned time as done before the run for it is durable.
//
// It is separate from the drivers: a driver knows runs but no stored workflows, and the rules for
// overlaps, missed times and clocks are the same whichever driver executes the runs.
//
// One goroutine, the loop of [Scheduler.Run], owns all schedules. Its flow:
//
//  1. It competes to be the scheduler of the store. Of several processes one leads; the others wait
//     until it ends (P37).
//  2. Every Poll it reads the published workflows and compares their schedules with the registered
//     ones (S1-38).
//  3. For each planned time that has come, a separate goroutine checks whether a run of the branch
//     is still active, and starts one if not (S1-37).
//  4. When the run is durable, and only then, the planned time is marked as done. If a process dies
//     between the two, the same run is started again under the same id, and the store rejects it as
//     a duplicate.
//  5. It sleeps until the next planned time, the end of a run that a continuous branch waits for
//     (S1-23), or the next poll.
//
// Invariants:
//
//   - A planned time has at most one run: the run's id is derived from workflow, branch and planned
//     time, and Planned only grows, except after the clock was set back by more than a day.
//   - No run of a branch is started before the previous one has ended.
//   - A planned time that passed while no scheduler ran is missed. The [Policy] determines which
//     missed times are caught up; they wait for the end of an active run, and are not skipped
//     because of it.
package scheduler
