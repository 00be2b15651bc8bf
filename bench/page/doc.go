// Command page fills a store with copies of its runs, for `make bench-page` (web/bench), which
// benchmarks the page in a browser.
//
//	go run ./bench/page hocket.db 100000
//
// Copies are complete: their records are those of the original run, and stores verify them like any
// others. They differ in id, creation time, labels, preview and search words. No other process may
// use the store, and all of its runs must have ended or be waiting.
package main
