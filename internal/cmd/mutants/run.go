package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// covered is the duration of a test that ran alone, and the changes whose code it reached.
type covered struct {
	Package string  `json:"package"`
	Test    string  `json:"test"` // "" marks the end of a package whose tests have all run
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
	Failed  bool    `json:"failed,omitempty"`
	Hits    []int   `json:"hits,omitempty"`
}

// verdict is the result of the tests for a change.
type verdict struct {
	ID      int    `json:"id"`
	Noticed bool   `json:"noticed"`
	By      string `json:"by,omitempty"` // PACKAGE.TEST
	How     string `json:"how,omitempty"`
	// Left is the number of tests that reach the change but were not run because the budget was
	// used up.
	Left int `json:"left,omitempty"`
	Ran  int `json:"ran"`
}

// coverFile returns the name of the file with the lines of cover.
func coverFile() string { return filepath.Join(cacheDir, "cover.jsonl") }

// onAllProcessors calls f for each value, with as many calls in parallel as there are processors,
// and returns the first error.
func onAllProcessors[T any](values []T, f func(T) error) error {
	work, errs := make(chan T), make(chan error, len(values))
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for v := range work {
				errs <- f(v)
			}
		})
	}
	for _, v := range values {
		work <- v
	}
	close(work)
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// outcome is how a test process ended.
type outcome struct {
	failed  bool
	how     string // the first line that states the reason
	seconds float64
	cpu     float64
}

var failure = regexp.MustCompile(`(?m)^(?:--- FAIL: \S+|panic: .*|fatal error: .*|FAIL.*)`)

// test runs tests of a package in one process. Its memory is limited, since a change may cause an
// infinite loop.
func test(p testPackage, names []string, limit time.Duration, env ...string) outcome {
	overlay, err := filepath.Abs(filepath.Join(cacheDir, "overlay", "overlay.json"))
	if err != nil {
		return outcome{failed: true, how: err.Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	run := "^(" + strings.Join(names, "|") + ")$"
	c := exec.CommandContext(ctx, "/bin/sh", "-c", `ulimit -v 12000000; exec "$@"`, "sh", p.Binary, "-test.run", run,
		"-test.failfast", "-test.count=1", "-test.timeout", limit.String())
	c.Dir = p.Dir
	c.Env = append(os.Environ(), "GOFLAGS=-trimpath -tags=grpcnotrace -overlay="+overlay)
	c.Env = append(c.Env, env...)
	c.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	start := time.Now()
	err = c.Run()
	o := outcome{failed: err != nil && !errors.Is(err, exec.ErrWaitDelay), seconds: time.Since(start).Seconds()}
	if c.ProcessState != nil {
		o.cpu = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	}
	if o.failed {
		o.how = cmp.Or(string(failure.Find(out.Bytes())), err.Error())
	}
	return o
}

// cover runs each test alone.
func cover(match *regexp.Regexp) error {
	done, err := readLines[covered](coverFile())
	if err != nil {
		return err
	}
	pkgs, err := testPackages(match)
	if err != nil {
		return err
	}
	type one struct {
		testPackage
		name string
	}
	var tests []one
	for _, p := range pkgs {
		c := exec.Command(p.Binary, "-test.list", ".")
		c.Dir = p.Dir
		out, err := c.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
		for line := range strings.Lines(string(out)) {
			name := strings.TrimSpace(line)
			isTest := strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") ||
				strings.HasPrefix(name, "Fuzz")
			if isTest && !slices.ContainsFunc(done, func(c covered) bool {
				return c.Package == p.Path && c.Test == name
			}) {
				tests = append(tests, one{p, name})
			}
		}
	}
	var mu sync.Mutex
	n := 0
	return onAllProcessors(tests, func(t one) error {
		f, err := os.CreateTemp("", "hits")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		if err := errors.Join(f.Truncate(4096), f.Close()); err != nil {
			return err
		}
		o := test(t.testPackage, []string{t.name}, 10*time.Minute, "HOCKET_MUTANT_HITS="+f.Name())
		b, err := os.ReadFile(f.Name())
		if err != nil {
			return err
		}
		c := covered{Package: t.Path, Test: t.name, Seconds: o.seconds, CPU: o.cpu, Failed: o.failed}
		for id, v := range b {
			if v != 0 {
				c.Hits = append(c.Hits, id)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		n++
		fmt.Printf("\r\033[K%d of %d: %s.%s", n, len(tests), t.Path, t.name)
		if o.failed {
			fmt.Printf(" fails without a change: %s\n", o.how)
		}
		return appendLine(coverFile(), c)
	})
}

// runConfig holds the flags of run.
type runConfig struct {
	budget           time.Duration
	out, known, only string
	tests            *regexp.Regexp
}

// runAll makes the changes one after the other and runs the tests.
func runAll(cfg runConfig) error {
	list, err := readLines[mutant](listFile)
	if err != nil {
		return err
	}
	cover, err := readLines[covered](coverFile())
	if err != nil {
		return err
	}
	done, err := readLines[verdict](cfg.out)
	if err != nil {
		return err
	}
	var known []verdict
	if cfg.known != "" {
		if known, err = readLines[verdict](cfg.known); err != nil {
			return err
		}
	}
	pkgs, err := testPackages(regexp.MustCompile(""))
	if err != nil {
		return err
	}
	byPath := map[string]testPackage{}
	for _, p := range pkgs {
		byPath[p.Path] = p
	}
	list = slices.DeleteFunc(list, func(m mutant) bool {
		return slices.ContainsFunc(done, func(v verdict) bool { return v.ID == m.ID }) ||
			cfg.only != "" && !slices.Contains(strings.Split(cfg.only, ","), strconv.Itoa(m.ID))
	})
	var mu sync.Mutex
	return onAllProcessors(list, func(m mutant) error {
		first := ""
		if i := slices.IndexFunc(known, func(v verdict) bool { return v.ID == m.ID }); i >= 0 {
			first = known[i].By
		}
		var tests []covered
		for _, c := range cover {
			if _, ok := byPath[c.Package]; ok && !c.Failed && slices.Contains(c.Hits, m.ID) &&
				cfg.tests.MatchString(c.Package+"."+c.Test) {
				tests = append(tests, c)
			}
		}
		v := decide(m, byPath, tests, first, cfg.budget)
		mu.Lock()
		defer mu.Unlock()
		word := "not noticed"
		if v.Noticed {
			word = "noticed by " + v.By + ": " + v.How
		}
		fmt.Printf("%d %s %s:%d: %s; %d tests of %d\n", m.ID, m.Kind, m.File, m.Line, word, v.Ran, v.Ran+v.Left)
		return appendLine(cfg.out, v)
	})
}

// decide runs the tests that reach a change: first the test that detected it before, then the
// others, cheapest first. Tests of one package with similar durations run in one process.
func decide(m mutant, pkgs map[string]testPackage, tests []covered, first string, budget time.Duration) verdict {
	v := verdict{ID: m.ID}
	env := "HOCKET_MUTANT=" + strconv.Itoa(m.ID)
	tier := func(c covered) int {
		switch {
		case c.Package+"."+c.Test == first:
			return 0
		case c.Seconds < 0.3:
			return 1
		case c.Seconds < 2:
			return 2
		case c.Seconds < 10:
			return 3
		}
		return 4 + int(c.Seconds/10)
	}
	own := func(c covered) int { // tests of the package itself are the most likely to detect it
		if strings.HasPrefix(m.File, c.Package+"/") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(tests, func(a, b covered) int {
		return cmp.Or(cmp.Compare(tier(a), tier(b)), cmp.Compare(own(a), own(b)), cmp.Compare(a.Package, b.Package),
			cmp.Compare(a.Seconds, b.Seconds))
	})
	spent := 0.0
	for len(tests) > 0 {
		n, cost := 0, 0.0
		var names []string
		for n < len(tests) && tests[n].Package == tests[0].Package && tier(tests[n]) == tier(tests[0]) {
			names, cost = append(names, tests[n].Test), cost+tests[n].Seconds
			n++
		}
		if spent > 0 && spent+cost > budget.Seconds() {
			v.Left = len(tests)
			return v
		}
		spent += cost
		p := pkgs[tests[0].Package]
		limit := time.Duration((20 + 5*cost) * float64(time.Second))
		o := test(p, names, limit, env)
		v.Ran += n
		if o.failed {
			name, _, _ := strings.Cut(strings.TrimPrefix(o.how, "--- FAIL: "), " ")
			// A test that also fails without the change proves nothing.
			if again := test(p, names, limit); !again.failed {
				v.Noticed, v.How, v.By = true, o.how, p.Path+"."+strings.Split(name, "/")[0]
				if !strings.HasPrefix(o.how, "--- FAIL: ") {
					v.By = p.Path + "." + strings.Join(names[:1], "")
					if len(names) > 1 {
						v.By = p.Path
					}
				}
				return v
			}
		}
		tests = tests[n:]
	}
	return v
}

// compare prints the differences between two results.
func compare(before, after string) error {
	a, err := readLines[verdict](before)
	if err != nil {
		return err
	}
	b, err := readLines[verdict](after)
	if err != nil {
		return err
	}
	list, err := readLines[mutant](listFile)
	if err != nil {
		return err
	}
	noticed := func(all []verdict, id int) (bool, verdict) {
		for _, v := range slices.Backward(all) {
			if v.ID == id {
				return v.Noticed, v
			}
		}
		return false, verdict{}
	}
	lost, sum := 0, [2]int{}
	for _, m := range list {
		wasNoticed, was := noticed(a, m.ID)
		isNoticed, is := noticed(b, m.ID)
		if wasNoticed {
			sum[0]++
		}
		if isNoticed {
			sum[1]++
		}
		if wasNoticed == isNoticed {
			continue
		}
		fmt.Printf("%d %s %s:%d %s: before %t by %q, after %t by %q\n", m.ID, m.Kind, m.File, m.Line, m.Text,
			wasNoticed, was.By, isNoticed, is.By)
		if wasNoticed {
			lost++
		}
	}
	fmt.Printf("%d changes: %d noticed before, %d after\n", len(list), sum[0], sum[1])
	if lost > 0 {
		return fmt.Errorf("%d changes are not noticed any more", lost)
	}
	return nil
}
