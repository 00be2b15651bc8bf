package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table holds the measurements.
type table struct {
	Machine string `json:"machine"`
	Rounds  int    `json:"rounds"`
	// PerSecond holds the steps per second of each round, by workload and engine.
	PerSecond map[string]map[string][]float64 `json:"perSecond"`
	// Skipped lists what was not measured, and why.
	Skipped []string `json:"skipped,omitempty"`

	work    []*workload
	engines []string
}

func newTable(rounds int) *table {
	return &table{
		Machine: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0),
			runtime.Version()),
		Rounds: rounds, PerSecond: map[string]map[string][]float64{},
	}
}

func (t *table) add(w *workload, e engine, perSecond float64) {
	if t.PerSecond[w.name] == nil {
		t.PerSecond[w.name] = map[string][]float64{}
		t.work = append(t.work, w)
	}
	if !slices.Contains(t.engines, e.name()) {
		t.engines = append(t.engines, e.name())
	}
	t.PerSecond[w.name][e.name()] = append(t.PerSecond[w.name][e.name()], perSecond)
}

// median returns the steps per second of an engine for a workload, or 0 if the engine does not run
// it.
func (t *table) median(w *workload, engine string) float64 {
	values := slices.Sorted(slices.Values(t.PerSecond[w.name][engine]))
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}

// ratio returns Hocket's figure divided by that of an engine, in the unit of the workload: a ratio
// of times or of rates.
func (t *table) ratio(w *workload, engine string) float64 {
	r := t.median(w, hocketEngine{}.name()) / t.median(w, engine)
	if !w.rate {
		return 1 / r
	}
	return r
}

// goals lists the goals that need a peer.
var goals = []struct {
	w      *workload
	engine string
	// ratio is the target for Hocket's figure divided by the engine's: a maximum for times, a
	// minimum for rates. perSecond is the target for Hocket's steps per second; 0 means no such
	// goal.
	ratio, perSecond float64
}{
	{chainWork, langgraphEngine{}.name(), 1, 0},
	{loopWork, langgraphEngine{}.name(), 1, 0},
	{fanWork, langgraphEngine{}.name(), 1, 0},
	{manyWork, langgraphEngine{}.name(), 1, 0},
	{oneDurable, inserts{}.name(), 0.8, 0},
	{manyDurable, inserts{}.name(), 0.25, 100_000},
}

func (t *table) print(out io.Writer) error {
	fmt.Fprintf(out, "%s. Medians of %d. In parentheses: Hocket / peer, of times (less is better) or of steps a "+
		"second (more is better).\n\n", t.Machine, t.Rounds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\t"+strings.Join(t.engines, "\t"))
	for _, work := range t.work {
		fields := []string{work.name}
		for _, e := range t.engines {
			switch v := t.median(work, e); {
			case v == 0:
				fields = append(fields, "-")
			case e == hocketEngine{}.name():
				fields = append(fields, work.figure(v))
			default:
				fields = append(fields, fmt.Sprintf("%s (%.2f)", work.figure(v), t.ratio(work, e)))
			}
		}
		fmt.Fprintln(w, strings.Join(fields, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nDBOS on SQLite does not wait for the disk at each commit (synchronous=NORMAL, its default); "+
		"DBOS on PostgreSQL, Hocket and the inserts do.")
	for _, s := range t.Skipped {
		fmt.Fprintln(out, "not measured: "+s)
	}
	fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "goal\tmeasured\tshould be\t")
	for _, g := range goals {
		measured, sign, met := t.ratio(g.w, g.engine), "≤", false
		if met = measured <= g.ratio; g.w.rate {
			sign, met = "≥", measured >= g.ratio
		}
		fmt.Fprintf(w, "%s, Hocket / %s\t%.2f\t%s %.2f\t%s\n", g.w.name, g.engine, measured, sign, g.ratio,
			verdict(met))
		if g.perSecond > 0 {
			v := t.median(g.w, hocketEngine{}.name())
			fmt.Fprintf(w, "%s\t%s\t≥ %s\t%s\n", g.w.name, g.w.figure(v), g.w.figure(g.perSecond),
				verdict(v >= g.perSecond))
		}
	}
	return w.Flush()
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}

// figure formats steps per second, as a rate or as the time per step.
func (w *workload) figure(perSecond float64) string {
	if w.rate {
		return fmt.Sprintf("%s/s", thousands(int64(perSecond)))
	}
	d := time.Duration(float64(time.Second) / perSecond)
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%s µs", thousands(d.Microseconds()))
	}
	return d.Round(time.Millisecond).String()
}

// thousands formats a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
