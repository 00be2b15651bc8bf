// Package catalogtest is the one suite that all stores of the catalog pass.
//
// It refuses to know any store: it is given a function that opens an empty one.
package catalogtest
