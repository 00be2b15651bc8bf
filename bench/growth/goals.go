package main

import "fmt"

// rowGoals are the goals that the rows themselves answer. A row that was not measured has none.
func rowGoals(list []measured) []goal {
	var goals []goal
	var largest int64
	var by string
	for _, m := range list {
		for _, c := range m.Costs {
			for name, s := range c.Answers {
				if s.Growth > largest {
					largest, by = s.Growth, fmt.Sprintf("%s of %s, n = %d", name, m.Row, c.N)
				}
			}
		}
		c := m.Costs[1]
		switch m.Row {
		case "steps", "state":
			what := map[string]string{"steps": "chain of %d agents, 5 KB each: ", "state": "Go state that appends 5 KB, %d steps: "}[m.Row]
			what = fmt.Sprintf(what, c.N)
			goals = append(goals, goal{Name: what + "disk", Measured: float64(c.Disk), Goal: 1.5*float64(c.Unique) + 1000*float64(c.Steps), Unit: "B"})
			if c.Memory > 0 {
				goals = append(goals, goal{Name: what + "memory", Measured: float64(c.Memory), Goal: 180e6, Unit: "B"})
			}
		}
	}
	if largest > 0 {
		goals = append(goals, goal{Name: "growth of memory by one answer, at most", Measured: float64(largest), Goal: 64 << 20, Unit: "B", Beside: by})
	}
	return goals
}
