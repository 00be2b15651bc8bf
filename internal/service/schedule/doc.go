// Package schedule implements the use cases that depend on the clock: it starts runs of published
// workflows according to their schedules, lists and previews schedules, and deletes runs that are
// too old.
//
// Package service composes it with documents and runs, whose packages it calls. Hocket's packages
// schedule and scheduler decide which times are due.
package schedule
