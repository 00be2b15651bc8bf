package diag

import (
	"slices"
	"strings"
)

// Suggest returns the candidate nearest to name by edit distance, or "" if none is near enough to
// be a likely intent: at most a third of the longer word's letters may differ, and at most three.
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

// DidYouMean returns a hint such as `did you mean "nodes"?`, or "".
func DidYouMean(name string, candidates []string) string {
	if s := Suggest(name, candidates); s != "" {
		return didYouMean(s)
	}
	return ""
}

func didYouMean(name string) string { return `did you mean "` + name + `"?` }

// Misspelt returns the candidate that name appears to misspell, or "". It is stricter than
// [Suggest], because such names are rejected:
//
//   - name and candidate are equal ignoring case, `-` and `_`; or
//   - they differ by one edit (an inserted, deleted or substituted letter, or two neighbors
//     swapped), and the shorter one has three letters or more; or
//   - they differ by two edits, and the shorter one has seven letters or more.
//
// For an exact match it returns "". docs/errors.md defines this measure; the keys of docker-agent
// pass it.
func Misspelt(name string, candidates []string) string {
	if slices.Contains(candidates, name) {
		return ""
	}
	best, bestDist := "", 3
	plain := letters(name)
	for _, c := range candidates {
		if plain == letters(c) && plain != "" {
			return c
		}
		d, shorter := distance(name, c), min(len(name), len(c))
		if d < bestDist && (d == 1 && shorter >= 3 || d == 2 && shorter >= 7) {
			best, bestDist = c, d
		}
	}
	return best
}

// letters returns a name in the form used for comparison: in lower case, without `-` and `_`.
func letters(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
}

// distance returns the optimal string alignment distance over bytes: insertions, deletions,
// substitutions and swaps of neighbors.
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
