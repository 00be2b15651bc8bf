// Package e2e tests the server as its users see it: the real binary, over real connections.
//
// It contains only tests. Each starts the processes that it needs on free ports of 127.0.0.1 with
// an empty home, and ends only those.
package e2e
