// Package bench measures Hocket beside its floors, in the same run: closures for the engine, round trips through JSON for the state of Go graphs, raw
// inserts with the same SQLite driver for durable steps.
// `make bench` runs it. docs/performance.md says what was seen, on what.
package bench
