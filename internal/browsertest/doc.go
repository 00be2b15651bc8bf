// Package browsertest finds the browser that tests drive, and the scripts that drive it.
//
// It refuses to install anything: `make test` does.
package browsertest
