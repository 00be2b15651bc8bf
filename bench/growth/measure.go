package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"
)

// measured is a row with what it cost.
type measured struct {
	Row  string `json:"row"`
	What string `json:"what"`
	// Costs are those of n and of 2n.
	Costs [2]cost `json:"costs"`
}

// cost is what the work of a row took with one number. Sizes are bytes.
type cost struct {
	N      int `json:"n"`
	Steps  int `json:"steps"`
	Unique int `json:"unique"`
	// Rounds is how often the work was carried out; Seconds, Allocated and Memory are medians of that many.
	Rounds    int     `json:"rounds"`
	Seconds   float64 `json:"seconds"`
	Allocated int64   `json:"allocated"`
	// Memory is the largest resident memory of the process; 0 where the system does not tell it.
	Memory int64 `json:"memory"`
	// Disk is the size of the store beyond an empty one.
	Disk    int64           `json:"disk"`
	Answers map[string]size `json:"answers"`
}

// size is an answer's size, and by how much the resident memory of the process that gave it grew.
type size struct {
	Bytes  int64 `json:"bytes"`
	Growth int64 `json:"growth"`
}

// rounds is how often the work of a row is carried out at most.
const maxRounds = 5

// measure carries out a row with n and with 2n.
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

// costs measures one number of a row. Answers are read once: their size does not vary.
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
			err = c.look(ctx, dir, res.Run)
		}
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return c, err
		}
		seconds, allocated, memory = append(seconds, res.Seconds), append(allocated, res.Allocated), append(memory, res.Peak)
	}
	c.Seconds, c.Allocated, c.Memory = median(seconds), median(allocated), median(memory)
	return c, nil
}

// look measures the store of a row and the answers that show its run.
func (c *cost) look(ctx context.Context, dir, run string) error {
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

// median gives the middle of values; 0 of none.
func median[T int64 | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
