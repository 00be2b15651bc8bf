//go:build race

package sqlite_test

// testScale is the factor by which the large tests are reduced. The race detector makes the driver,
// which is C translated to Go, about twenty times slower.
const testScale = 10
