// Package timer keeps the timers of a run in one table, and names them.
//
// A [Key] identifies a timer by what it is for. Commands, inputs and events name a timer by
// [Key.String], which [Parse] reads; inside the engine there are only keys.
//
// The package does not decide when a timer starts or what follows when it is due, and reads no
// clock. The timers of the run itself (Limit, Settle) are never in the table: when they are due
// follows from the state.
package timer
