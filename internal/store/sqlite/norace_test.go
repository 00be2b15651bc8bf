//go:build !race

package sqlite_test

// testScale is the factor by which the large tests are reduced.
const testScale = 1
