// Package schedule reads schedules and tells when they fire: `60`, `daily@09:00`, `weekly@1,3,5`, and continuous branches with their delay.
//
// It refuses to know what time it is, to start anything, and to keep anything: callers give the instant and the time zone and get an instant
// back. Reading a zone of the time zone database ([Zone]) is the one thing here that comes from outside; the database is linked in, so that a
// machine without one behaves alike.
//
// The flow: a format calls [Parse] on what the document says and turns an [Error] into a diagnostic; the scheduler calls [Parse] again on the
// stored words and asks [Schedule.Next] or [Schedule.NextFrom] for one planned time after the other.
//
// Invariants (S1-33, S1-34, S1-36):
//
//   - Next(t) is later than t, and of two instants the later one never has the earlier Next.
//   - A calendar schedule fires once for each listed local day: at its local time, which is the first of two where the clock is set back, and
//     the first instant after the gap where the clock is set forward over it. A local day that does not exist does not fire.
//   - No input makes it panic.
package schedule
