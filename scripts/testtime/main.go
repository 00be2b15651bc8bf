// Testtime runs the tests once and prints their cost.
//
// Usage:
//
//	go run ./scripts/testtime [-o FILE] [-top N] [COMMAND [ARGUMENT...]]
//
// COMMAND runs the tests; the default is `make test`. While it runs, each go command that it starts
// calls testtime in place of its compilers, linkers and test binaries (through -toolexec and -exec
// in GOFLAGS); testtime runs them and records their cost. The tables are printed when COMMAND has
// ended, and written to FILE as Markdown. The exit status is that of COMMAND.
//
// Processor times of test binaries include all processes that the tests started. They are read from
// a control group for each binary, and the time in which nothing in the group ran is reported as
// slept; both need permission to create control groups (root, on most systems). Without it, the
// processor time covers only processes that were waited for, and the time slept is unknown.
// Processes are counted with perf(1) if permitted; a process that was started without exec is not
// counted.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// envDir is the environment variable with the folder in which the wrapped programs record their
// cost.
const envDir = "TESTTIME_DIR"

// cost is the cost of one program. Durations are in seconds.
type cost struct {
	Kind    string             `json:"kind"`    // "compile", "link", "test", or the name of another tool
	Package string             `json:"package"` // import path, as go test prints it
	Race    bool               `json:"race,omitempty"`
	InTest  bool               `json:"in_test,omitempty"` // built by a test
	Wall    float64            `json:"wall"`
	CPU     float64            `json:"cpu"`
	Slept   float64            `json:"slept"`     // -1 means unknown
	Started int                `json:"processes"` // -1 means unknown
	Tests   map[string]float64 `json:"tests,omitempty"`
}

func main() {
	dir := os.Getenv(envDir)
	if len(os.Args) > 2 && dir != "" {
		switch os.Args[1] {
		case "tool":
			os.Exit(runTool(dir, os.Args[2:]))
		case "exec":
			os.Exit(runTest(dir, os.Args[2:]))
		}
	}
	out := flag.String("o", "", "write the tables to this file, too")
	top := flag.Int("top", 40, "rows of each table")
	flag.Parse()
	code, err := measure(flag.Args(), *out, *top)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtime:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// measure runs a command with wrapped go commands and prints the tables.
func measure(command []string, out string, top int) (int, error) {
	if len(command) == 0 {
		command = []string{"make", "test"}
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "testtime")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	// go run deletes its program when it exits, and go commands look up theirs by name.
	program := filepath.Join(dir, "testtime")
	if err := copyFile(self, program); err != nil {
		return 0, err
	}
	c := exec.Command(command[0], command[1:]...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	flags := fmt.Sprintf("%s '-toolexec=%s tool' '-exec=%s exec'", os.Getenv("GOFLAGS"), program, program)
	c.Env = append(os.Environ(), envDir+"="+dir, "GOFLAGS="+strings.TrimSpace(flags))
	signal.Ignore(os.Interrupt) // the command gets it too; measurements up to then are printed
	start := time.Now()
	code, err := exitCode(c.Run())
	if err != nil {
		return code, err
	}
	costs, err := readCosts(dir)
	if err != nil {
		return code, err
	}
	text := report(costs, time.Since(start), top)
	fmt.Print(text)
	if out != "" {
		return code, os.WriteFile(out, []byte(text), 0o600)
	}
	return code, nil
}

// exitCode returns the exit status of a command that was run, or an error if it could not be run.
func exitCode(err error) (int, error) {
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(failed.ExitCode(), 1), nil
	}
	return 0, err
}

// copyFile copies a program.
func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o700)
}

// note stores the cost of a program in a file of its own.
func note(dir string, c cost) {
	b, err := json.Marshal(c)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, "cost-*.json"); err == nil {
			_, err = f.Write(b)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testtime:", err)
	}
}

// readCosts reads all recorded costs.
func readCosts(dir string) ([]cost, error) {
	files, err := filepath.Glob(filepath.Join(dir, "cost-*.json"))
	if err != nil {
		return nil, err
	}
	costs := make([]cost, len(files))
	for i, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, &costs[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return costs, nil
}
