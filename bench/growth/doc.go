// Command growth measures how the cost of a run grows with its length.
//
// For each row of a table (steps, rounds, turns, branches, items of maps, children, events, stored runs, runs in a line, elements of a list) it carries out the same work with n
// and with 2n of them, each in a process of its own, on a store in a file with fsync. It prints time, allocated bytes, resident memory, bytes on
// disk, and the size of the answers that show the run, for n, for 2n, and as ratios. A linear cost has a ratio of 2. Below the table are the
// goals, each with what was measured and whether it is met.
//
//	go run ./bench/growth            # the table and the goals
//	go run ./bench/growth -json      # the same as JSON, for comparisons
//	go run ./bench/growth -row steps # one row
//	go run ./bench/growth -long 100000 # a run of 100,000 steps that is killed and resumed, and nothing else
//
// The flow: main starts itself once for each measurement (child.go), since peak memory belongs to a process; rows.go says what is run, answers.go
// how answers are read, goals.go what is compared.
//
// TestGrowth holds the ratios of counts and bytes, with a small n, in one process. It measures no time.
package main
