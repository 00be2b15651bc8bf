// Package scheduler starts runs of stored workflows when their schedules say so.
//
// It refuses to know how a workflow is stored, read or run: those are ports. It keeps no schedule in memory alone, and it never decides by itself
// that a planned time is done with before the run that it asked for is durable.
//
// It is beside the drivers, not inside one: a driver knows runs and no stored workflows, and what is said here of overlaps, missed times and
// clocks is the same whichever driver carries the runs out.
//
// One goroutine, the loop of [Scheduler.Run], owns all schedules. Its flow:
//
//  1. It asks to be the one that carries out the schedules of the store. Of several processes one does; the others wait for its end (P37).
//  2. Every Poll it reads the published workflows and compares their schedules with those registered (S1-38).
//  3. For each planned time that has come, a goroutine of its own looks whether a run of the branch has not ended yet, then starts one (S1-37).
//  4. When the run is durable, and only then, the planned time is marked as done with. A process that dies between the two starts the same run
//     again under the same id, which the store refuses as there is one.
//  5. It sleeps until the next planned time, the end of a run that a continuous branch waits for (S1-23), or the next look.
//
// Invariants:
//
//   - A planned time has one run at most: the run's id is made of workflow, branch and planned time, and Planned only grows, save where the clock
//     was set back by more than a day.
//   - No run of a branch is started while another has not ended.
//   - A planned time that passed while no scheduler ran is missed. The [Policy] says which of the missed ones are made up for; they wait for the end
//     of a run under way, and are not skipped for it.
package scheduler
