package leaktest

import (
	"fmt"
	"os"

	"go.uber.org/goleak"
)

// looks is how often is looked, for half a second each time: what is left after a minute stays.
const looks = 120

// Main is for TestMain: it runs the tests and exits, with status 1 where they passed and goroutines are left that opts do not ignore.
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

// settle gives the last error of find, nil once it finds nothing.
func settle(find func() error) (err error) {
	for range looks {
		if err = find(); err == nil {
			return nil
		}
	}
	return err
}
