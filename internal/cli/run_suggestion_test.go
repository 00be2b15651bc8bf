package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSuggestID(t *testing.T) {
	t.Parallel()
	ids := []string{"01M8157VSHWF9FV2XN84Q7AME5", "01M8157VXD9P9M23N0RT3323BF", "nightly"}
	for _, x := range []struct{ name, typed, want string }{
		{"an end", "Q7AME5", ids[0]},
		{"an end in lower case", "3323bf", ids[1]},
		{"a beginning of one", "01M8157VSH", ids[0]},
		{"a beginning of two", "01M8157V", ""},
		{"a letter too many", "nightlyy", "nightly"},
		{"letters that were swapped", "nihgtly", "nightly"},
		{"too short to tell", "nig", ""},
		{"nothing like it", "weekly-report", ""},
		{"nothing", "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			if got := suggestID(x.typed, ids); got != x.want {
				t.Errorf("meantID(%q) = %q, want %q", x.typed, got, x.want)
			}
		})
	}
}

// TestTopics checks that the pages exist, and that no topic hides a verb.
func TestTopics(t *testing.T) {
	t.Parallel()
	verbs := map[string]bool{}
	for _, c := range (&app{}).root().Commands() {
		verbs[c.Name()] = true
	}
	for word, page := range topics {
		if _, err := os.Stat(filepath.Join("..", "..", "docs", page+".md")); err != nil {
			t.Errorf("%s: %v", word, err)
		}
		if verbs[word] {
			t.Errorf("%s is a verb", word)
		}
	}
}
