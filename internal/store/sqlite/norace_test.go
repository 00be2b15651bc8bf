//go:build !race

package sqlite_test

// slower is how much less the large tests do.
const slower = 1
