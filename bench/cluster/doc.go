// Package cluster benchmarks stores in PostgreSQL and the processes that share them, next to floors
// measured on the same server in the same run.
//
// `make bench` runs it, with five turns of each benchmark, and reports the medians. A benchmark
// fails if a figure is more than 50 % worse than its goal ([goals]). This enforces the ratios
// without timed assertions in tests, which would fail on a busy machine. docs/performance.md lists
// the results and the hardware.
package cluster
