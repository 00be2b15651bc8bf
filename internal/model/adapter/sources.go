package adapter

import (
	"fmt"
	"net/url"
	"strings"
)

// maxSources is the maximum number of sources of a response, maxSourceText the maximum length of a
// title and an address.
const (
	maxSources    = 50
	maxSourceText = 2_000
)

// Sources collects the pages that a response cites. The zero value is empty.
type Sources struct {
	lines []string
	seen  map[string]bool
}

// Add adds a page unless it is already present. Addresses other than http and https are ignored, as
// are pages beyond 50.
func (s *Sources) Add(title, address string) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(address) > maxSourceText ||
		len(s.lines) == maxSources {
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

// Text returns the list to append to the text of the response, preceded by a blank line, or "" if
// nothing was cited.
func (s *Sources) Text() string {
	if len(s.lines) == 0 {
		return ""
	}
	return "\n\nSources:\n" + strings.Join(s.lines, "\n")
}
