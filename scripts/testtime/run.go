package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// envTest is an environment variable that is set for the programs that a test starts.
const envTest = "TESTTIME_TEST"

// runTool runs a compiler, linker or other build tool, and records its cost.
func runTool(dir string, args []string) int {
	c := exec.Command(args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	code, err := exitCode(c.Run())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtime:", err)
		return 1
	}
	if len(args) > 1 && strings.HasPrefix(args[1], "-V") { // it was asked for its version
		return code
	}
	kind := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	note(dir, cost{
		Kind: kind, Package: os.Getenv("TOOLEXEC_IMPORTPATH"), Race: slices.Contains(args, "-race"),
		InTest: os.Getenv(envTest) != "", Wall: time.Since(start).Seconds(),
		CPU: (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), Slept: -1, Started: -1,
	})
	return code
}

// runTest runs a test binary in its own control group, and records its cost.
func runTest(dir string, args []string) int {
	if !strings.HasSuffix(strings.TrimSuffix(args[0], ".exe"), ".test") { // go run uses -exec too
		c := exec.Command(args[0], args[1:]...)
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		code, err := exitCode(c.Run())
		if err != nil {
			fmt.Fprintln(os.Stderr, "testtime:", err)
			return 1
		}
		return code
	}
	group := newGroup(os.Getpid())
	defer group.remove()
	run := args
	counts := filepath.Join(dir, fmt.Sprintf("perf-%d", os.Getpid()))
	if canCount() {
		run = append([]string{"perf", "stat", "-x,", "-e", "sched:sched_process_exec", "-o", counts, "--"}, run...)
	}
	run = group.within(run)
	c := exec.Command(run[0], run[1:]...)
	c.Env = append(os.Environ(), envTest+"=1")
	c.Stdin, c.Stderr = os.Stdin, os.Stderr
	tests := &durations{of: map[string]float64{}}
	c.Stdout = io.MultiWriter(os.Stdout, tests)
	signal.Ignore(os.Interrupt)
	quit := make(chan os.Signal, 1) // go test sends it on timeout; the test binary must print its goroutines
	notifyQuit(quit)
	start := time.Now()
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "testtime:", err)
		return 1
	}
	go func() {
		for s := range quit {
			_ = c.Process.Signal(s)
		}
	}()
	slept := group.watch()
	code, err := exitCode(c.Wait())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtime:", err)
		return 1
	}
	wall := time.Since(start).Seconds()
	cpu, ok := group.usage()
	if !ok {
		cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	note(dir, cost{
		Kind: "test", Package: packageHere(), Race: isRaced(args[0]), Wall: wall, CPU: cpu.Seconds(), Slept: slept(),
		Started: counted(counts), Tests: tests.of,
	})
	return code
}

// packageHere returns the import path of the package in whose folder the test binary was started.
func packageHere() string {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}", ".").Output()
	if err != nil {
		here, _ := os.Getwd()
		return here
	}
	return strings.TrimSpace(string(out))
}

// isRaced reports whether a program was built with the race detector.
func isRaced(program string) bool {
	out, err := exec.Command("go", "version", "-m", program).Output()
	return err == nil && bytes.Contains(out, []byte("-race=true"))
}

// canCount reports whether perf may count what processes start.
func canCount() bool {
	return exec.Command("perf", "stat", "-x,", "-e", "sched:sched_process_exec", "-o", os.DevNull, "--",
		"true").Run() == nil
}

// counted returns the number of processes that perf saw, excluding the test binary itself; -1 means
// unknown.
func counted(file string) int {
	b, err := os.ReadFile(file)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if n, err := strconv.Atoi(strings.Split(line, ",")[0]); err == nil {
			return max(0, n-1)
		}
	}
	return -1
}

// group is a control group, of version 2 or 1; without a folder it measures nothing.
type group struct {
	dir   string
	isOld bool
}

// newGroup creates a group, or returns one that measures nothing if that is not permitted.
func newGroup(id int) group {
	for _, g := range []group{{dir: "/sys/fs/cgroup/testtime"}, {dir: "/sys/fs/cgroup/cpuacct/testtime", isOld: true}} {
		g.dir += strconv.Itoa(id)
		if os.Mkdir(g.dir, 0o755) != nil {
			continue
		}
		if _, ok := g.usage(); ok {
			return g
		}
		_ = os.Remove(g.dir)
	}
	return group{}
}

// within returns a command that enters the group first.
func (g group) within(command []string) []string {
	if g.dir == "" {
		return command
	}
	return append([]string{"/bin/sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, g.dir}, command...)
}

// usage returns the processor time of everything that ran in the group, and whether it is known.
func (g group) usage() (time.Duration, bool) {
	if g.dir == "" {
		return 0, false
	}
	if g.isOld {
		b, err := os.ReadFile(filepath.Join(g.dir, "cpuacct.usage"))
		n, errNumber := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		return time.Duration(n), err == nil && errNumber == nil
	}
	b, err := os.ReadFile(filepath.Join(g.dir, "cpu.stat"))
	if err != nil {
		return 0, false
	}
	n, errNumber := strconv.ParseInt(strings.Fields(string(b) + " _ _")[1], 10, 64) // the first line is usage_usec
	return time.Duration(n) * time.Microsecond, errNumber == nil
}

// watch samples the group every 20 ms and returns a function that stops sampling and returns the
// number of seconds in which nothing in it ran; -1 means unknown.
func (g group) watch() func() float64 {
	last, ok := g.usage()
	if !ok {
		return func() float64 { return -1 }
	}
	const step = 20 * time.Millisecond
	end, slept := make(chan struct{}), make(chan float64)
	go func() {
		ticks := time.NewTicker(step)
		defer ticks.Stop()
		sum, at := 0.0, time.Now()
		for {
			select {
			case <-end:
				slept <- sum
				return
			case now := <-ticks.C:
				used, _ := g.usage()
				if used-last < step/40 {
					sum += now.Sub(at).Seconds()
				}
				last, at = used, now
			}
		}
	}()
	return func() float64 {
		close(end)
		return <-slept
	}
}

// remove deletes the group. It remains if the tests left processes running.
func (g group) remove() {
	if g.dir != "" {
		_ = os.Remove(g.dir)
	}
}

// durations collects the durations of tests from the output of a test binary.
type durations struct {
	rest []byte
	of   map[string]float64
}

// result matches the line that ends a test or subtest.
var result = regexp.MustCompile(`^\x16?\s*--- (?:PASS|FAIL|SKIP): (\S+) \((\d+\.\d+)s\)`)

// Write implements io.Writer.
func (d *durations) Write(b []byte) (int, error) {
	d.rest = append(d.rest, b...)
	for {
		line, rest, ok := bytes.Cut(d.rest, []byte("\n"))
		if !ok {
			break
		}
		if m := result.FindSubmatch(line); m != nil {
			if s, err := strconv.ParseFloat(string(m[2]), 64); err == nil {
				d.of[string(m[1])] = s
			}
		}
		d.rest = rest
	}
	if len(d.rest) > bufio.MaxScanTokenSize { // a line of output that is not a result
		d.rest = nil
	}
	return len(b), nil
}
