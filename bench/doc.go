// Package bench benchmarks Hocket next to floors measured in the same run: closures for the engine,
// JSON round trips for the state of Go graphs, raw inserts with the same SQLite driver for durable
// steps. `make bench` runs it. docs/performance.md lists the results and the hardware.
package bench
