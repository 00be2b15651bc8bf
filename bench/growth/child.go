package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// childCommand is the first argument of a process that performs one measurement:
//
//	growth child run ROW N DB
//	growth child answer NAME command|get DB RUN
//	growth child long N DB
//	growth child resume DB RUN
const childCommand = "child"

// childResult is what a child process prints.
type childResult struct {
	Run           string
	Unique, Steps int
	Seconds       float64
	Allocated     int64
	// Peak is the largest resident memory of the process, and Growth the part that the work added;
	// 0 means that the system does not report it.
	Peak, Growth int64
	// Bytes is the size of the answer.
	Bytes int64
}

func child(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("child without work")
	}
	work, args := args[0], args[1:]
	var res childResult
	var err error
	switch {
	case work == "run" && len(args) == 3:
		res, err = childRun(ctx, args[0], args[1], args[2])
	case work == "answer" && len(args) == 4:
		res, err = childAnswer(ctx, args[0], args[1], args[2], args[3])
	case work == "long" && len(args) == 2:
		return childLong(ctx, args[0], args[1], out)
	case work == "resume" && len(args) == 2:
		res, err = childResume(ctx, args[0], args[1])
	default:
		return fmt.Errorf("unexpected arguments of child: %q", args)
	}
	if err != nil {
		return err
	}
	res.Peak = peak()
	if base > 0 {
		res.Growth = max(0, res.Peak-base)
	}
	return json.NewEncoder(out).Encode(res)
}

func childRun(ctx context.Context, name, number, db string) (res childResult, err error) {
	chosen, err := choose(name)
	if err != nil {
		return res, err
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return res, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	d, err := chosen[0].run(ctx, db, n)
	if err != nil {
		return res, err
	}
	res.Seconds = time.Since(began).Seconds()
	runtime.ReadMemStats(&after)
	res.Allocated = int64(after.TotalAlloc - before.TotalAlloc)
	res.Run, res.Unique, res.Steps = d.run, d.unique, d.steps
	return res, nil
}

func childAnswer(ctx context.Context, name, way, db, run string) (res childResult, err error) {
	i := slices.IndexFunc(answers, func(a answer) bool { return a.name == name })
	if i < 0 {
		return res, fmt.Errorf("no answer %q", name)
	}
	a := answers[i]
	if way == "command" {
		forgetPeak()
		res.Bytes, err = command(ctx, db, a.command(run)...)
		return res, err
	}
	r, err := openReader(ctx, db, httpapi.New(httpapi.Config{}))
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, r.service.Close()) }()
	forgetPeak()
	res.Bytes, err = r.get(ctx, a.path(run))
	return res, err
}

// start runs this program again as a child.
func start(ctx context.Context, args ...string) (res childResult, err error) {
	self, err := os.Executable()
	if err != nil {
		return res, err
	}
	var out, problems bytes.Buffer
	c := exec.CommandContext(ctx, self, append([]string{childCommand}, args...)...)
	c.Stdout, c.Stderr = &out, &problems
	if err := c.Run(); err != nil {
		return res, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(problems.Bytes()))
	}
	return res, json.Unmarshal(out.Bytes(), &res)
}
