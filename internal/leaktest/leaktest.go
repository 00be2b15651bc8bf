package leaktest

import (
	"fmt"
	"os"

	"go.uber.org/goleak"
)

// maxChecks is the number of checks, of half a second each: a goroutine that is left after a minute
// stays.
const maxChecks = 120

// Main is called from TestMain: it runs the tests and exits, with status 1 if they passed but
// goroutines are left that opts do not ignore.
func Main(m goleak.TestingM, opts ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := settle(func() error { return goleak.Find(opts...) }); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// settle returns the last error of find, or nil once find finds nothing.
func settle(find func() error) (err error) {
	for range maxChecks {
		if err = find(); err == nil {
			return nil
		}
	}
	return err
}
