package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Limits of one search of file contents.
const (
	maxMatches     = 200
	maxMatchBytes  = 300 // shown of a matching line
	maxSearchBytes = 5 << 20
)

// matcher holds patterns for names; a pattern with a slash matches whole paths.
type matcher []glob

func newMatcher(patterns []string) (matcher, error) {
	if len(patterns) > maxPaths {
		return nil, refuse("%d patterns are more than the limit of %d", len(patterns), maxPaths)
	}
	var m matcher
	for _, p := range patterns {
		g, err := newGlob(p, false)
		if err != nil || p == "" {
			return nil,
				refuse("invalid pattern %q: * matches any characters of a name, ** for any folders, ? for one "+
					"character", p)
		}
		m = append(m, g)
	}
	return m, nil
}

// matches reports whether one of the patterns matches. The only error is that of ctx.
func (m matcher) matches(ctx context.Context, name string) (bool, error) {
	for _, g := range m {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if g.match(name) {
			return true, nil
		}
	}
	return false, nil
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
	query, err := newQuery(a.Query, a.IsRegex)
	if err != nil {
		return "", err
	}
	excluded, err := newMatcher(a.ExcludePatterns)
	if err != nil {
		return "", err
	}
	name, err := c.reach("path", orRoot(a.Path))
	if err != nil {
		return "", err
	}
	s := search{c: c, query: query}
	st, err := c.root.Stat(name)
	if err != nil {
		return "", err
	}
	note := ""
	if !st.IsDir() {
		err = s.file(ctx, name, st.Size())
	} else {
		note, err = c.walk(ctx, name, func(it item) error {
			switch out, err := excluded.matches(ctx, it.name); {
			case err != nil:
				return err
			case out && it.dir():
				return fs.SkipDir
			case out:
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
		note = addNote(note, fmt.Sprintf("[more lines match: an answer has at most %d; search for something narrower]",
			maxMatches))
	}
	if s.big > 0 {
		note = addNote(note, fmt.Sprintf("[%d files of more than %d bytes were not searched]", s.big, maxSearchBytes))
	}
	if s.found == 0 && note == "" {
		note = "[no line matches]"
	}
	return s.out.String() + note, nil
}

// search searches files for one call.
type search struct {
	c     call
	query query
	out   strings.Builder
	found int
	big   int
}

// file searches one file; it skips files that are not text and files that cannot be read.
func (s *search) file(ctx context.Context, name string, size int64) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if size > maxSearchBytes {
		s.big++
		return nil
	}
	f, _, err := s.c.open(ctx, name)
	if err != nil {
		return nil // other files may be readable
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSearchBytes))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0 {
		return nil // as above
	}
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, maxSearchBytes+1)
	for n := 1; sc.Scan(); n++ {
		at, err := s.query.find(ctx, sc.Bytes())
		if err != nil {
			return err
		}
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
