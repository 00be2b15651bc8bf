package adapter

import (
	"fmt"
	"net/url"
	"strings"
)

// maxSources bounds the list of an answer, maxSourceText a title and an address in it.
const (
	maxSources    = 50
	maxSourceText = 2_000
)

// Sources gathers the pages that an answer cites. The zero value is empty.
type Sources struct {
	lines []string
	seen  map[string]bool
}

// Add takes a page once. What is no http or https address is left out, and what goes beyond 50 pages.
func (s *Sources) Add(title, address string) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(address) > maxSourceText || len(s.lines) == maxSources {
		return
	}
	at := u.String()
	if s.seen[at] {
		return
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[at] = true
	line := "- " + at
	if title = strings.Join(strings.Fields(title), " "); title != "" && len(title) <= maxSourceText {
		line = fmt.Sprintf("- %s: %s", title, at)
	}
	s.lines = append(s.lines, line)
}

// Text is what follows the text of the answer, with a blank line in front; "" where nothing was cited.
func (s *Sources) Text() string {
	if len(s.lines) == 0 {
		return ""
	}
	return "\n\nSources:\n" + strings.Join(s.lines, "\n")
}
