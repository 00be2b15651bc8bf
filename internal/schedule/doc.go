// Package schedule parses schedules and computes when they fire: `60`, `daily@09:00`,
// `weekly@1,3,5`, and continuous branches with their delay.
//
// It does not read the clock, start anything, or keep state: callers pass the instant and the time
// zone and get an instant back. Its only external input is a zone of the time zone database
// ([Zone]); the database is linked in, so that the result is the same on a machine without one.
//
// The flow: a format calls [Parse] on the strings in the document and turns an [Error] into a
// diagnostic; the scheduler calls [Parse] again on the stored strings and calls [Schedule.Next] or
// [Schedule.NextFrom] for one planned time after another.
//
// Invariants (S1-33, S1-34, S1-36):
//
//   - Next(t) is later than t, and of two instants the later one never has the earlier Next.
//   - A calendar schedule fires once for each listed local day: at its local time, which is the
//     first of two if the clock is set back, and the first instant after the gap if the clock is
//     set forward over it. A local day that does not exist does not fire.
//   - No input makes it panic.
package schedule
