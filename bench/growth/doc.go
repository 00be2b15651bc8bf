// Command growth measures how the cost of a run grows with its length.
//
// For each row of a table (steps, rounds, turns, branches, items of maps, children, events, stored
// runs, queued runs, elements of a list) it does the same work with n and with 2n of them, each in
// a separate process, on a store in a file with fsync. It prints time, allocated bytes, resident
// memory, bytes on disk, and the size of the answers that show the run, for n, for 2n, and as
// ratios. A linear cost has a ratio of 2. The goals follow the table, each with its measured value
// and whether it is met.
//
//	go run ./bench/growth            # the table and the goals
//	go run ./bench/growth -json      # the same as JSON, for comparisons
//	go run ./bench/growth -row steps # one row
//	go run ./bench/growth -long 100000 # a run of 100,000 steps that is killed and resumed, and nothing else
//
// Since peak memory is a figure of a whole process, the program starts itself once for each
// measurement (child.go). growth_cases.go defines what is run, queries.go how answers are read, and
// goals.go what is compared.
//
// TestGrowth checks the ratios of counts and bytes, with a small n, in one process. It does not
// measure time.
package main
