package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Limits of one search in the content of files.
const (
	maxMatches     = 200
	maxMatchBytes  = 300 // of a line that is shown
	maxSearchBytes = 5 << 20
)

// matcher holds patterns of names; one that has a slash is of whole paths.
type matcher []postEdit

func newMatcher(patterns []string) (matcher, error) {
	if len(patterns) > maxPaths {
		return nil, refuse("%d patterns are more than the limit of %d", len(patterns), maxPaths)
	}
	var m matcher
	for _, p := range patterns {
		re, err := globPattern(p)
		if err != nil || p == "" {
			return nil, refuse("%q is no pattern: * stands for any characters of a name, ** for any folders, ? for one character", p)
		}
		m = append(m, postEdit{pattern: re, whole: strings.Contains(p, "/")})
	}
	return m, nil
}

func (m matcher) matches(name string) bool {
	return slices.ContainsFunc(m, func(p postEdit) bool {
		if p.whole {
			return p.pattern.MatchString(name)
		}
		return p.pattern.MatchString(path.Base(name))
	})
}

type searchArgs struct {
	Path            string   `json:"path"`
	Query           string   `json:"query"`
	IsRegex         bool     `json:"is_regex"`
	ExcludePatterns []string `json:"excludePatterns"`
}

func searchContent(ctx context.Context, c call, a searchArgs) (string, error) {
	if a.Query == "" || len(a.Query) > maxPattern {
		return "", refuse("query must have 1 to %d bytes", maxPattern)
	}
	text := a.Query
	if !a.IsRegex {
		text = regexp.QuoteMeta(text)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return "", refuse("query is no regular expression (RE2): %v", err)
	}
	excluded, err := newMatcher(a.ExcludePatterns)
	if err != nil {
		return "", err
	}
	name, err := c.reach("path", orRoot(a.Path))
	if err != nil {
		return "", err
	}
	s := search{c: c, re: re}
	st, err := c.root.Stat(name)
	if err != nil {
		return "", err
	}
	note := ""
	if !st.IsDir() {
		err = s.file(ctx, name, st.Size())
	} else {
		note, err = c.walk(ctx, name, func(it item) error {
			if excluded.matches(it.name) {
				if it.dir() {
					return fs.SkipDir
				}
				return nil
			}
			if !it.mode.IsRegular() {
				return nil
			}
			return s.file(ctx, it.name, it.size())
		})
	}
	if err != nil && !errors.Is(err, errFull) {
		return "", err
	}
	if s.found > maxMatches {
		note = fmt.Sprintf("[more lines match: an answer has at most %d; search for something narrower]", maxMatches)
	}
	if s.big > 0 {
		note += fmt.Sprintf("[%d files of more than %d bytes were not searched]", s.big, maxSearchBytes)
	}
	if s.found == 0 && note == "" {
		note = "[no line matches]"
	}
	return s.out.String() + note, nil
}

// search goes through files for one call.
type search struct {
	c     call
	re    *regexp.Regexp
	out   strings.Builder
	found int
	big   int
}

// file searches one file; what holds no text is passed over, as is a file that cannot be read.
func (s *search) file(ctx context.Context, name string, size int64) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if size > maxSearchBytes {
		s.big++
		return nil
	}
	f, _, err := s.c.open(name)
	if err != nil {
		return nil // others can be read
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSearchBytes))
	if err != nil || bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0 {
		return nil // as above
	}
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, maxSearchBytes+1)
	for n := 1; sc.Scan(); n++ {
		at := s.re.FindIndex(sc.Bytes())
		if at == nil {
			continue
		}
		if s.found++; s.found > maxMatches {
			return errFull
		}
		line := sc.Bytes()
		if len(line) > maxMatchBytes {
			from := max(0, min(at[0]-maxMatchBytes/2, len(line)-maxMatchBytes))
			line = slices.Concat([]byte("..."), line[from:from+maxMatchBytes], []byte("..."))
		}
		fmt.Fprintf(&s.out, "%s:%d: %s\n", name, n, strings.ToValidUTF8(string(line), "\uFFFD"))
	}
	return nil
}
