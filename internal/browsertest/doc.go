// Package browsertest locates the browser that tests drive, and the scripts that drive it.
//
// It does not install anything; `make test` does.
package browsertest
