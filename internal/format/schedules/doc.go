// Package schedules reads and writes the key `schedules` of documents, a list of schedules with ids
// and inputs, which means the same in every format that has it.
//
// It does not compute when a schedule fires, which package schedule does, or which values an input
// accepts, which package form does. The flow: a format reads its inputs, then calls [Keys.Read] for
// the list, and [Fits] for the single schedule that its documents may have instead.
package schedules
