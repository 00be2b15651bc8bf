//go:build race

package scheduler_test

// The race detector makes a year take ten times as long.
const (
	months = 2
	seeds  = 1
)
