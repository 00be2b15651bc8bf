// Package cluster measures stores in PostgreSQL and the processes that share them, beside floors on the same server in the same run.
//
// `make bench` runs it, five turns of each benchmark, whose medians it reports. A benchmark fails where a figure is worse than its goal by more than half ([goals]): so the ratios are held without timed
// assertions in tests, which a busy machine would fail. docs/performance.md has what was seen, on what.
package cluster
