package diag

// Suggest gives the candidate nearest to name by edit distance, or "" where none is near enough to be what was meant:
// at most a third of the longer word's letters may differ, and at most three.
func Suggest(name string, candidates []string) string {
	best, bestDist := "", 4
	for _, c := range candidates {
		d := distance(name, c)
		if limit := max(len(name), len(c)) / 3; d < bestDist && d <= max(limit, 1) {
			best, bestDist = c, d
		}
	}
	return best
}

// DidYouMean gives a hint such as `did you mean "nodes"?`, or "".
func DidYouMean(name string, candidates []string) string {
	if s := Suggest(name, candidates); s != "" {
		return `did you mean "` + s + `"?`
	}
	return ""
}

// distance is the optimal string alignment distance over bytes: insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var rows [3][66]int
	for j := range len(b) + 1 {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur, prev, before := &rows[2], &rows[1], &rows[0]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		rows[0], rows[1] = rows[1], rows[2]
	}
	return rows[1][len(b)]
}
