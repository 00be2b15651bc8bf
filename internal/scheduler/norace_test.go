//go:build !race

package scheduler_test

const (
	months = 12
	seeds  = 1
)
