// Command page fills a store with copies of the runs that are in it, for `make bench-page` (web/bench), which measures the page in a browser.
//
//	go run ./bench/page hocket.db 100000
//
// Copies are whole: their records are those of the run that they are copied from, and stores verify them as they do others. They differ in id, time of creation, labels, preview and the words by
// which they are found. The store may have no other process at work in it, and all of its runs must have ended or wait.
package main
