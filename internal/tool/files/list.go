package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits of what lists and searches go through and give.
const (
	maxVisited  = 200_000 // files and folders that one call looks at
	maxListed   = 2000    // lines of one answer
	maxDepth    = 64
	defaultTree = 4 // folders below each other in a tree
)

// errFull ends a walk whose answer is full.
var errFull = errors.New("answer is full")

// item is what a walk comes by.
type item struct {
	name  string
	depth int // 1 for what stands in the folder itself
	mode  fs.FileMode
	size  func() int64
}

func (i item) dir() bool { return i.mode.IsDir() }

// walk visits what is below dir, in the order of names, folders before what is in them. Links are visited, not followed. visit gives fs.SkipDir to
// leave a folder out, and errFull to end. Folders that cannot be read are left out.
func (c call) walk(ctx context.Context, dir string, visit func(item) error) (note string, err error) {
	st, err := c.root.Stat(dir)
	switch {
	case err != nil:
		return "", err
	case !st.IsDir():
		return "", refuse("%q is no folder", dir)
	}
	w := walker{c: c, visit: visit}
	ignore := c.set.opts.IgnoreVCS == nil || *c.set.opts.IgnoreVCS
	var rs rules
	if ignore {
		rs = c.below(".", nil)
		at := "."
		for part := range strings.SplitSeq(dir, "/") { // rules of the folders above hold below too
			if part != "." {
				at = path.Join(at, part)
				rs = c.below(at, rs)
			}
		}
	}
	err = w.in(ctx, dir, 1, rs, ignore)
	switch {
	case errors.Is(err, errFull):
		return w.note, nil
	case err != nil:
		return "", err
	}
	return w.note, nil
}

type walker struct {
	c       call
	visit   func(item) error
	visited int
	note    string
}

func (w *walker) in(ctx context.Context, dir string, depth int, rs rules, ignore bool) error {
	f, err := w.c.openPlain(dir)
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(maxVisited)
	_ = f.Close()
	if err != nil && !errors.Is(err, io.EOF) && len(entries) == 0 {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if w.visited++; w.visited > maxVisited {
			w.note = fmt.Sprintf("[stopped after %d files and folders; look into fewer folders]", maxVisited)
			return errFull
		}
		if w.visited%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		name := path.Join(dir, e.Name())
		if ignore && rs.ignores(name, e.IsDir()) || w.c.hidden(name) {
			continue
		}
		it := item{name: name, depth: depth, mode: e.Type(), size: func() int64 {
			if st, err := e.Info(); err == nil {
				return st.Size()
			}
			return 0
		}}
		switch err := w.visit(it); {
		case errors.Is(err, fs.SkipDir):
			continue
		case err != nil:
			return err
		}
		if !it.dir() || depth >= maxDepth {
			continue
		}
		inner := rs
		if ignore {
			inner = w.c.below(name, rs)
		}
		if err := w.in(ctx, name, depth+1, inner, ignore); err != nil {
			if errors.Is(err, errFull) || ctx.Err() != nil {
				return err
			}
			continue // it went away, or may not be read
		}
	}
	return nil
}

type dirArgs struct {
	Path     string `json:"path"`
	MaxDepth int    `json:"maxDepth"`
}

func listDirectory(ctx context.Context, c call, a dirArgs) (string, error) {
	return c.lines(ctx, a.Path, func(it item) (string, error) {
		switch {
		case it.dir():
			return "DIR  " + path.Base(it.name) + "/", fs.SkipDir
		case it.mode&fs.ModeSymlink != 0:
			return "LINK " + path.Base(it.name), nil
		case !it.mode.IsRegular():
			return "SPECIAL " + path.Base(it.name), nil
		}
		return fmt.Sprintf("FILE %s (%d bytes)", path.Base(it.name), it.size()), nil
	})
}

func directoryTree(ctx context.Context, c call, a dirArgs) (string, error) {
	deepest := a.MaxDepth
	if deepest <= 0 {
		deepest = defaultTree
	}
	return c.lines(ctx, a.Path, func(it item) (string, error) {
		line := strings.Repeat("  ", it.depth-1) + path.Base(it.name)
		switch {
		case it.dir() && it.depth >= deepest:
			return line + "/ ...", fs.SkipDir
		case it.dir():
			return line + "/", nil
		case it.mode&fs.ModeSymlink != 0:
			return line + "@", nil
		}
		return line, nil
	})
}

type findArgs struct {
	Path            string   `json:"path"`
	Pattern         string   `json:"pattern"`
	ExcludePatterns []string `json:"excludePatterns"`
}

func searchFiles(ctx context.Context, c call, a findArgs) (string, error) {
	wanted, err := newMatcher([]string{a.Pattern})
	if err != nil {
		return "", err
	}
	excluded, err := newMatcher(a.ExcludePatterns)
	if err != nil {
		return "", err
	}
	return c.lines(ctx, a.Path, func(it item) (string, error) {
		if excluded.matches(it.name) {
			return "", fs.SkipDir
		}
		if !wanted.matches(it.name) {
			return "", nil
		}
		if it.dir() {
			return it.name + "/", nil
		}
		return it.name, nil
	})
}

// lines walks a folder and gives one line for each item that line has one for; what is left out is told.
func (c call) lines(ctx context.Context, dir string, line func(item) (string, error)) (string, error) {
	name, err := c.reach("path", orRoot(dir))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	n := 0
	full := false
	note, err := c.walk(ctx, name, func(it item) error {
		text, err := line(it)
		if text != "" {
			if n++; n > maxListed || b.Len() > maxTextBytes {
				full = true
				return errFull
			}
			b.WriteString(strings.ToValidUTF8(text, "\uFFFD") + "\n")
		}
		if errors.Is(err, fs.SkipDir) && !it.dir() {
			return nil
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case full:
		note = fmt.Sprintf("[more is left out: an answer has at most %d lines; look into one folder at a time]", maxListed)
	case n == 0 && note == "":
		note = "[nothing]"
	}
	return b.String() + note, nil
}

func orRoot(p string) string {
	if p == "" {
		return "."
	}
	return p
}
