package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/journal"
)

// rule is the test of one rule. Its name starts with the number of the rule.
type rule struct {
	name string
	test func(t *testing.T)
	// outside means that the test runs outside a synctest bubble because it needs files and
	// processes. Inside a bubble time is simulated: a test never really waits, and synctest.Wait
	// returns when nothing more can happen without the test.
	outside bool
}

// check runs each rule's test as a subtest.
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

// covered checks that every number has a test, and returns the numbers.
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

// number returns the rule number, the first word of a test's name.
func number(name string) string {
	n, _, _ := strings.Cut(name, " ")
	return n
}

var listAll = journal.Query{}

// allRules returns the rules of S0 to S4.
func allRules() [][]rule {
	return [][]rule{
		canvasDocument, canvasAgent, canvasIf, canvasApproval, canvasBranch, canvasJoin, canvasSubagent,
		roundsDocument, roundsRun, roundsSchedule, roundsMCP,
		graphFields, graphBuilder, graphLoop, graphRun, graphRetry, graphNode, graphAgent, graphState,
		routesDocument, routesChoice, routesRun,
		stepsDocument, stepsPrompt, stepsCondition, stepsTemplate, stepsRetry, stepsRun,
	}
}

// TestEveryRule fails if a rule of S0 to S4 is covered by no file.
func TestEveryRule(t *testing.T) {
	t.Parallel()
	var all []rule
	for _, rules := range allRules() {
		all = append(all, rules...)
	}
	var want []string
	for _, part := range []struct {
		format   string
		from, to int
	}{
		{"S0", 1, 7}, {"S0", 10, 19}, {"S0", 20, 25}, {"S0", 30, 37}, {"S0", 40, 48}, {"S0", 50, 56}, {"S0", 60, 60},
		{"S1", 1, 8}, {"S1", 10, 16}, {"S1", 20, 28}, {"S1", 30, 40},
		{"S2", 0, 9}, {"S2", 20, 24}, {"S2", 30, 38}, {"S2", 40, 46}, {"S2", 50, 79},
		{"S3", 1, 23}, {"S4", 1, 24}, {"S4", 30, 39},
	} {
		for n := part.from; n <= part.to; n++ {
			want = append(want, fmt.Sprintf("%s-%d", part.format, n))
		}
	}
	if len(want) != 201 {
		t.Fatalf("docs/spec has 201 rules in S0, S1, S2, S3 and S4; these are %d", len(want))
	}
	covered(t, all, want...)
}
