package diag

import (
	"slices"
	"strings"
)

// Suggest returns the candidate nearest to name by edit distance, or "" if none is near enough to
// be a likely intent: at most a third of the longer word's letters may differ, and at most three.
// It looks at the first 1,000 candidates, as documents may have any number of wrong names.
func Suggest(name string, candidates []string) string {
	best, bestDist := "", maxDistance+1
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
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

// DidYouMeanOr is like [DidYouMean] but, if no candidate is near, returns text with the first
// candidates, such as "the inputs are a, b".
func DidYouMeanOr(name, text string, candidates []string) string {
	if s := DidYouMean(name, candidates); s != "" {
		return s
	}
	if len(candidates) > maxNames {
		candidates = append(slices.Clone(candidates[:maxNames]), "…")
	}
	return text + " " + strings.Join(candidates, ", ")
}

const (
	maxDistance   = 3    // of names that are near
	maxCandidates = 1000 // compared with a name
	maxNames      = 12   // listed in a hint
)

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
	best, bestDist := "", maxDistance
	plain := letters(name)
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
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
// substitutions and swaps of neighbors. Beyond maxDistance it may return any larger number.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 || max(len(a)-len(b), len(b)-len(a)) > maxDistance {
		return 64
	}
	var rows [3][66]int
	least := 0 // of the row before
	for j := range len(b) + 1 {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur, prev, before := &rows[2], &rows[1], &rows[0]
		cur[0] = i
		low := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			low = min(low, cur[j])
		}
		if min(low, least) > maxDistance { // the rows that follow depend on these two
			return 64
		}
		least = low
		rows[0], rows[1] = rows[1], rows[2]
	}
	return rows[1][len(b)]
}
