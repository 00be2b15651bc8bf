// Package longtest marks what `make test-all` runs and `make test` does not: entire tests, and the
// long forms of other tests.
package longtest

import (
	"os"
	"testing"
)

// env is the environment variable that `make test-all` sets.
const env = "HOCKET_LONG"

// Enabled reports whether long tests run.
func Enabled() bool { return os.Getenv(env) != "" }

// Only skips a test unless long tests run. The reason names the test in `make test` that fails when
// the same rule is broken, or explains why none needs to.
func Only(t testing.TB, reason string) {
	t.Helper()
	if reason == "" {
		t.Fatal("longtest.Only needs a reason")
	}
	if !Enabled() {
		t.Skipf("make test-all runs it: %s", reason)
	}
}
