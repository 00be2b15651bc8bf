package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is the cost of one package. A package whose tests ran with and without the race detector has
// two rows.
type row struct {
	name                       string
	compile, link              float64 // processor time
	wall, cpu, slept           float64
	started                    int
	hasSlept, hasStarted, runs bool
}

// report returns the tables of the recorded costs.
func report(costs []cost, wall time.Duration, top int) string {
	rows := map[string]*row{}
	at := func(c cost) *row {
		name, _, _ := strings.Cut(c.Package, " ")
		name = strings.TrimSuffix(strings.TrimSuffix(name, ".test"), "_test")
		if c.Race {
			name += " (race)"
		}
		if rows[name] == nil {
			rows[name] = &row{name: name}
		}
		return rows[name]
	}
	var compile, link, inTests, others, tests float64
	type slow struct {
		name    string
		seconds float64
	}
	var slowest []slow
	for _, c := range costs {
		switch {
		case c.Kind == "test":
			r := at(c)
			r.runs = true
			r.wall += c.Wall
			r.cpu += c.CPU
			tests += c.CPU
			if c.Slept >= 0 {
				r.slept, r.hasSlept = r.slept+c.Slept, true
			}
			if c.Started >= 0 {
				r.started, r.hasStarted = r.started+c.Started, true
			}
			for name, s := range c.Tests {
				slowest = append(slowest, slow{r.name + " " + name, s})
			}
		case c.InTest: // part of the cost of the test
			inTests += c.CPU
		case c.Kind == "link":
			link += c.CPU
			at(c).link += c.CPU
		case c.Kind == "compile":
			compile += c.CPU
			if strings.Contains(c.Package, "test") {
				at(c).compile += c.CPU
			}
		default:
			others += c.CPU
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nWall time %s. Processor time: compilers %.0f s, linkers %.0f s, other tools of builds %.0f s, "+
		"test binaries with all that they start %.0f s, of which builds within tests %.0f s.\n",
		wall.Round(time.Second), compile, link, others, tests, inTests)
	sorted := make([]*row, 0, len(rows))
	for _, r := range rows {
		if r.runs {
			sorted = append(sorted, r)
		}
	}
	slices.SortFunc(sorted, func(a, b *row) int {
		return cmp.Or(cmp.Compare(b.cpu+b.compile+b.link, a.cpu+a.compile+a.link), cmp.Compare(a.name, b.name))
	})
	b.WriteString("\nSeconds. compile: of the tests' files alone. cpu, processes: of the tests with all that they " +
		"start. slept: nothing of them ran.\n\n")
	b.WriteString("| package | wall | cpu | slept | compile | link | processes |\n| --- | ---: | ---: | ---: | ---: " +
		"| ---: | ---: |\n")
	for i, r := range sorted {
		if i == top {
			fmt.Fprintf(&b, "| and %d more | | | | | | |\n", len(sorted)-top)
			break
		}
		slept, started := "–", "–"
		if r.hasSlept {
			slept = fmt.Sprintf("%.1f", r.slept)
		}
		if r.hasStarted {
			started = strconv.Itoa(r.started)
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.1f | %s | %.1f | %.1f | %s |\n", r.name, r.wall, r.cpu, slept, r.compile,
			r.link, started)
	}
	slices.SortFunc(slowest, func(a, b slow) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.name, b.name))
	})
	b.WriteString("\n| test | wall |\n| --- | ---: |\n")
	for i, s := range slowest {
		if i == top {
			break
		}
		fmt.Fprintf(&b, "| %s | %.1f |\n", s.name, s.seconds)
	}
	return b.String()
}
