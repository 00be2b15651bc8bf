package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"
)

// measured is a row with its costs.
type measured struct {
	Row  string `json:"row"`
	What string `json:"what"`
	// Costs holds the costs of n and of 2n.
	Costs [2]cost `json:"costs"`
}

// cost is what the work of a row cost for one number. Sizes are in bytes.
type cost struct {
	N      int `json:"n"`
	Steps  int `json:"steps"`
	Unique int `json:"unique"`
	// Rounds is how often the work was done; Seconds, Allocated and Memory are medians over the
	// rounds.
	Rounds    int     `json:"rounds"`
	Seconds   float64 `json:"seconds"`
	Allocated int64   `json:"allocated"`
	// Memory is the largest resident memory of the process; 0 if the system does not report it.
	Memory int64 `json:"memory"`
	// Disk is the size of the store beyond that of an empty one.
	Disk    int64           `json:"disk"`
	Answers map[string]size `json:"answers"`
}

// size is the size of an answer, and how much the resident memory of the process that produced it
// grew.
type size struct {
	Bytes  int64 `json:"bytes"`
	Growth int64 `json:"growth"`
}

// maxRounds is the maximum number of times the work of a row is done.
const maxRounds = 5

// measure does the work of a row with n and with 2n, and measures both.
func measure(ctx context.Context, r row, budget time.Duration) (measured, error) {
	m := measured{Row: r.name, What: r.what}
	for i, n := range []int{r.n, 2 * r.n} {
		c, err := costs(ctx, r, n, budget)
		if err != nil {
			return m, err
		}
		m.Costs[i] = c
	}
	return m, nil
}

// costs measures a row for one number. Answers are read once, since their size does not vary.
func costs(ctx context.Context, r row, n int, budget time.Duration) (c cost, err error) {
	var seconds []float64
	var allocated, memory []int64
	for began := time.Now(); c.Rounds == 0 || c.Rounds < maxRounds && time.Since(began) < budget; c.Rounds++ {
		dir, err := os.MkdirTemp("", "hocket-growth")
		if err != nil {
			return c, err
		}
		res, err := start(ctx, "run", r.name, strconv.Itoa(n), storePath(dir))
		if err == nil && c.Rounds == 0 {
			c.N, c.Steps, c.Unique = n, res.Steps, res.Unique
			err = c.inspect(ctx, dir, res.Run)
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return c, err
		}
		seconds, allocated, memory = append(seconds, res.Seconds), append(allocated, res.Allocated),
			append(memory, res.Peak)
	}
	c.Seconds, c.Allocated, c.Memory = median(seconds), median(allocated), median(memory)
	return c, nil
}

// inspect measures the store of a row and the answers that show its run.
func (c *cost) inspect(ctx context.Context, dir, run string) error {
	empty, err := emptyStore(ctx, dir)
	if err != nil {
		return err
	}
	full, err := fileSize(storePath(dir))
	if err != nil {
		return err
	}
	c.Disk, c.Answers = full-empty, map[string]size{}
	for _, a := range answers {
		way := "get"
		if a.command(run) != nil {
			way = "command"
		} else if a.path(run) == "" {
			continue
		}
		res, err := start(ctx, "answer", a.name, way, storePath(dir), run)
		if err != nil {
			return err
		}
		c.Answers[a.name] = size{res.Bytes, res.Growth}
	}
	return nil
}

// median returns the median of values, or 0 if there are none.
func median[T int64 | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
