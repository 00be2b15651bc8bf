package conformance_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/journal"
)

// rule is the test of one rule. Its name begins with the number of the rule.
type rule struct {
	name string
	test func(t *testing.T)
	// outside: the test needs the world outside of a bubble, for files and processes. Inside, time is the bubble's: a test waits for nothing and
	// synctest.Wait returns when nothing can happen any more without it.
	outside bool
}

// check runs the tests of rules, each by itself.
func check(t *testing.T, rules []rule) {
	t.Parallel()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if r.outside {
				r.test(t)
				return
			}
			synctest.Test(t, r.test)
		})
	}
}

// covered demands a test for every number, and gives the numbers.
func covered(t *testing.T, rules []rule, numbers ...string) {
	t.Helper()
	for _, n := range numbers {
		if !slices.ContainsFunc(rules, func(r rule) bool { return number(r.name) == n }) {
			t.Errorf("rule %s has no test here", n)
		}
	}
	for _, r := range rules {
		if !slices.Contains(numbers, number(r.name)) {
			t.Errorf("the list of numbers lacks that of the test %q", r.name)
		}
	}
}

// number is the first word of a test's name.
func number(name string) string {
	n, _, _ := strings.Cut(name, " ")
	return n
}

var listAll = journal.Query{}
