package main

import (
	"os"
	"runtime"
	"testing"

	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// TestMain runs the tests or, in a child process, performs one measurement.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestLongRun_Resume checks that a run whose process was killed is resumed and shown. It is not
// parallel, because its allocations would count toward TestGrowth's rows.
func TestLongRun_Resume(t *testing.T) {
	goals, err := longGoals(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range goals {
		if g.Measured <= 0 {
			t.Errorf("%s: measured %v", g.Name, g.Measured)
		}
	}
	if len(goals) == 0 {
		t.Error("nothing was measured")
	}
}

// quadratic lists the costs that may grow faster than linearly, by row and measure, each with its
// reason. A cost that has become linear must be removed from the list: the test fails until it is.
var quadratic = map[string]string{}

// TestGrowth measures counts and bytes of each row with n and with 2n. It is not parallel, because
// it counts the allocations of the whole process.
func TestGrowth(t *testing.T) {
	dir := t.TempDir()
	empty, err := emptyStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	m := meter{template: emptyPath(dir), empty: empty, api: httpapi.New(httpapi.Config{})}
	// One-time work of the process, such as creating tables, must not count toward a row.
	if _, err := m.costs(t, rows[0], 2); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, r := range rows {
		costs := m.pair(t, r)
		// A garbage collection during a run empties pools of buffers, which are then allocated
		// again. So the least of several measurements counts.
		for range 3 {
			if costs[1]["allocated"] <= int64(maxRatio*float64(costs[0]["allocated"])) {
				break
			}
			for i, c := range m.pair(t, r) {
				costs[i]["allocated"] = min(costs[i]["allocated"], c["allocated"])
			}
		}
		for _, name := range measures {
			one, two := costs[0][name], costs[1][name]
			if one == 0 && two == 0 {
				continue
			}
			key := r.name + "/" + name
			reason, marked := quadratic[key]
			listed[key] = marked
			ratio := float64(two) / float64(one)
			t.Logf("%-18s %12d %12d %6.2f", key, one, two, ratio)
			switch {
			case one <= 0:
				t.Errorf("%s: %d bytes for n = %d", key, one, r.small)
			case !marked && ratio > maxRatio:
				t.Errorf("%s grows %.2f times from n = %d (%d) to 2n (%d), at most %.1f are allowed", key, ratio,
					r.small, one, two, maxRatio)
			case marked && ratio <= maxRatio:
				t.Errorf("%s grows %.2f times and is linear: remove it from the list of costs that are quadratic (%s)",
					key, ratio, reason)
			}
		}
	}
	for key := range quadratic {
		if !listed[key] {
			t.Errorf("the list of costs that are quadratic names %s, which is not measured", key)
		}
	}
}

// measures lists what TestGrowth compares: bytes on disk beyond an empty store, bytes of records,
// allocated bytes, bytes of answers.
var measures = []string{"disk", "stored", "allocated", "get", "events", "logs", "trail"}

// meter measures rows, each on a copy of a store that is created once.
type meter struct {
	template string
	empty    int64
	api      *httpapi.API
}

// pair returns the costs of a row with n and with 2n.
func (m *meter) pair(t *testing.T, r row) (costs [2]map[string]int64) {
	t.Helper()
	for i, n := range []int{r.small, 2 * r.small} {
		var err error
		if costs[i], err = m.costs(t, r, n); err != nil {
			t.Fatalf("%s, n = %d: %v", r.name, n, err)
		}
	}
	return costs
}

func (m *meter) costs(t *testing.T, r row, n int) (map[string]int64, error) {
	t.Helper()
	ctx, db := t.Context(), storePath(t.TempDir())
	text, err := os.ReadFile(m.template)
	if err == nil {
		err = os.WriteFile(db, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := r.run(ctx, db, n)
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	size, err := fileSize(db)
	if err != nil {
		return nil, err
	}
	c := map[string]int64{"allocated": int64(after.TotalAlloc - before.TotalAlloc), "disk": size - m.empty}
	if c["stored"], err = stored(ctx, db); err != nil {
		return nil, err
	}
	read, err := openReader(ctx, db, m.api)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := read.service.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, a := range answers {
		if path := a.path(d.run); path != "" {
			if c[a.name], err = read.get(ctx, path); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}
