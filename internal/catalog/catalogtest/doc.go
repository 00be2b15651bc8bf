// Package catalogtest is the test suite that all stores of the catalog must pass.
//
// It depends on no particular store: the caller passes a function that opens an empty one.
package catalogtest
