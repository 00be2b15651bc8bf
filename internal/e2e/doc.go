// Package e2e tests the server as those who use it meet it: the real binary, over real connections.
//
// It has no code of its own but its tests. Each starts the processes that it needs on free ports of 127.0.0.1 with an empty home, and ends those alone.
package e2e
