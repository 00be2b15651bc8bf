// Package schedule is the use cases of what happens by the clock: it starts runs of published workflows when their schedules say so, lists and previews schedules, and deletes
// runs that are too old.
//
// Package service composes it with documents and runs, whose packages it calls. Which time is due is decided by packages schedule and scheduler of Hocket.
package schedule
