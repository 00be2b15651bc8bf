//go:build race

package scheduler_test

// The detector of races makes a year ten times as long.
const (
	months = 2
	seeds  = 1
)
