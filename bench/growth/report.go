package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"
)

// maxRatio is the largest allowed ratio of the cost of 2n to the cost of n.
const maxRatio = 2.2

// report holds all measurements.
type report struct {
	Rows  []measured `json:"rows"`
	Goals []goal     `json:"goals"`
}

// goal is a measured figure and its target.
type goal struct {
	Name string `json:"name"`
	// Measured and Goal are in the goal's unit.
	Measured float64 `json:"measured"`
	Goal     float64 `json:"goal"`
	Unit     string  `json:"unit"`
	// AtLeast means that higher values are better.
	AtLeast bool `json:"atLeast,omitempty"`
	// Floor describes a floor measured in the same run; "" if there is none.
	Floor string `json:"beside,omitempty"`
}

// met reports whether the goal is reached.
func (g goal) met() bool {
	if g.AtLeast {
		return g.Measured >= g.Goal
	}
	return g.Measured <= g.Goal
}

// column is a figure of the table.
type column struct {
	name string
	of   func(cost) (v float64, ok bool)
	show func(float64) string
}

// columns returns the figures of the table, in order.
func columns() []column {
	list := []column{
		{"time", func(c cost) (float64, bool) { return c.Seconds, true }, seconds},
		{"allocated", func(c cost) (float64, bool) { return float64(c.Allocated), true }, size10},
		{"memory", func(c cost) (float64, bool) { return float64(c.Memory), c.Memory > 0 }, size10},
		{"disk", func(c cost) (float64, bool) { return float64(c.Disk), true }, size10},
	}
	for _, a := range answers {
		list = append(list, column{a.name, func(c cost) (float64, bool) {
			s, ok := c.Answers[a.name]
			return float64(s.Bytes), ok
		}, size10})
	}
	return append(list, column{"to answer", func(c cost) (float64, bool) {
		g := c.growth()
		return float64(g), g > 0
	}, size10})
}

// growth returns the largest growth in memory of a process that produced an answer.
func (c cost) growth() (n int64) {
	for _, s := range c.Answers {
		n = max(n, s.Growth)
	}
	return n
}

// write writes the report as JSON or as tables.
func (r report) write(out io.Writer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	if len(r.Rows) > 0 {
		if err := r.printRows(out); err != nil {
			return err
		}
	}
	return r.printGoals(out)
}

// printRows writes the table of the costs for n and 2n.
func (r report) printRows(out io.Writer) error {
	fmt.Fprintf(out, "n and 2n: sizes in bytes (k, M, G: powers of 1,000). memory is the largest resident memory; "+
		"show to trail are sizes of answers, to answer the largest growth of memory by one.\n"+
		"A ratio above %.1f is marked with !.\n\n", maxRatio)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := []string{"row", "n"}
	for _, c := range columns() {
		head = append(head, c.name)
	}
	line(w, append(head, "goal "+fmt.Sprintf("≤ %.1f", maxRatio)))
	for _, m := range r.Rows {
		for _, c := range m.Costs {
			fields := []string{m.Row, fmt.Sprint(c.N)}
			for _, col := range columns() {
				if v, ok := col.of(c); ok {
					fields = append(fields, col.show(v))
				} else {
					fields = append(fields, "-")
				}
			}
			line(w, append(fields, ""))
		}
		fields, verdict := []string{"", "2n/n"}, "met"
		for _, col := range columns() {
			ratio, ok := m.ratio(col)
			switch {
			case !ok:
				fields = append(fields, "-")
			case ratio > maxRatio:
				fields, verdict = append(fields, fmt.Sprintf("%.2f!", ratio)), "missed"
			default:
				fields = append(fields, fmt.Sprintf("%.2f", ratio))
			}
		}
		line(w, append(fields, verdict))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

// printGoals writes the table of goals.
func (r report) printGoals(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line(w, []string{"goal", "measured", "should be", "", "beside"})
	for _, g := range r.Goals {
		sign, verdict := "≤ ", "missed"
		if g.AtLeast {
			sign = "≥ "
		}
		if g.met() {
			verdict = "met"
		}
		line(w, []string{g.Name, figure(g.Measured, g.Unit), sign + figure(g.Goal, g.Unit), verdict, g.Floor})
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out,
		"\nGoals beside other engines and beside inserts into SQLite are printed by make bench-peers.")
	return err
}

// ratio returns the ratio of the cost of 2n to that of n.
func (m measured) ratio(c column) (float64, bool) {
	one, ok := c.of(m.Costs[0])
	two, both := c.of(m.Costs[1])
	if !ok || !both || one <= 0 {
		return 0, false
	}
	return two / one, true
}

func line(w io.Writer, fields []string) { fmt.Fprintln(w, strings.Join(fields, "\t")+"\t") }

// figure formats a value with its unit.
func figure(v float64, unit string) string {
	switch unit {
	case "B":
		return size10(v) + "B"
	case "s":
		return seconds(v)
	case "":
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%s %s", size10(v), unit)
}

// size10 formats a number with three digits.
func size10(v float64) string {
	for _, p := range []struct {
		name string
		of   float64
	}{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if v >= p.of {
			return digits(v/p.of) + " " + p.name
		}
	}
	return digits(v) + " "
}

func digits(v float64) string {
	switch {
	case v == math.Trunc(v) && v < 1000, v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func seconds(v float64) string {
	d := time.Duration(v * float64(time.Second))
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return digits(float64(d.Microseconds())/1000) + " ms"
	}
	return digits(float64(d.Nanoseconds())/1000) + " µs"
}
