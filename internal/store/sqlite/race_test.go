//go:build race

package sqlite_test

// slower is how much less the large tests do. The race detector makes the driver, which is C in Go, about twenty times slower.
const slower = 10
