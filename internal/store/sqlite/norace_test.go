//go:build !race

package sqlite_test

// slower is the factor by which the large tests are reduced.
const slower = 1
