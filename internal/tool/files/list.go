package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Limits of what lists and searches visit and return.
const (
	maxVisited  = 200_000 // files and folders visited per call
	maxListed   = 2000    // lines per result
	maxDepth    = 64
	defaultTree = 4 // levels of folders in a tree
)

// errFull stops a walk when the result is full.
var errFull = errors.New("answer is full")

// item is an entry found by a walk.
type item struct {
	name  string
	depth int // 1 for entries of the folder itself
	mode  fs.FileMode
	size  func() int64
}

func (i item) dir() bool { return i.mode.IsDir() }

// walk visits everything below dir in order of name, folders before their content. Links are
// visited but not followed. visit returns fs.SkipDir to skip a folder, and errFull to stop. Folders
// that cannot be read are skipped.
func (c call) walk(ctx context.Context, dir string, visit func(item) error) (note string, err error) {
	st, err := c.root.Stat(dir)
	switch {
	case err != nil:
		return "", err
	case !st.IsDir():
		return "", refuse("%q is not a folder", dir)
	}
	w := walker{c: c, visit: visit, ignore: c.set.opts.IgnoreVCS == nil || *c.set.opts.IgnoreVCS}
	err = w.from(ctx, dir)
	if err != nil && !errors.Is(err, errFull) {
		return "", err
	}
	if w.more > 0 {
		w.notes = append(w.notes, fmt.Sprintf("[%d more folders are left out for the same reasons]", w.more))
	}
	return strings.Join(w.notes, "\n"), nil
}

// maxNotes is the maximum number of notes about folders that are left out.
const maxNotes = 5

type walker struct {
	c       call
	visit   func(item) error
	ignore  bool // skip what git ignores
	visited int
	notes   []string
	more    int // skipped folders not named in notes
}

// from walks everything below dir, applying the rules of the folders above as well.
func (w *walker) from(ctx context.Context, dir string) error {
	rs, ok, err := w.rules(ctx, ".", nil)
	at := "."
	for part := range strings.SplitSeq(dir, "/") {
		if !ok {
			return err
		}
		if part != "." {
			at = path.Join(at, part)
			rs, ok, err = w.rules(ctx, at, rs)
		}
	}
	if !ok {
		return err
	}
	return w.in(ctx, dir, 1, rs)
}

// rules returns the rules that apply in dir. ok is false if the folder is left out because its
// rules cannot be applied.
func (w *walker) rules(ctx context.Context, dir string, above *rules) (rs *rules, ok bool, err error) {
	if !w.ignore {
		return nil, true, nil
	}
	rs, err = w.c.rulesFor(ctx, dir, above)
	if limit, is := errors.AsType[*errIgnore](err); is {
		if len(w.notes) < maxNotes {
			w.notes = append(w.notes, limit.Error())
		} else {
			w.more++
		}
		return nil, false, nil
	}
	return rs, err == nil, err
}

func (w *walker) in(ctx context.Context, dir string, depth int, rs *rules) error {
	entries, err := w.c.entries(ctx, dir, maxVisited-w.visited+1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if w.visited++; w.visited > maxVisited {
			w.notes = append(w.notes, fmt.Sprintf("[stopped after %d files and folders; look into fewer folders]",
				maxVisited))
			return errFull
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name := path.Join(dir, e.Name())
		if w.ignore {
			out, err := rs.ignores(ctx, name, e.IsDir())
			if err != nil {
				return err
			}
			if out {
				continue
			}
		}
		if w.c.hidden(name) {
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
		inner, ok, err := w.rules(ctx, name, rs)
		if ok {
			err = w.in(ctx, name, depth+1, inner)
		}
		if err != nil && (errors.Is(err, errFull) || ctx.Err() != nil) {
			return err
		} // otherwise it is gone, or cannot be read
	}
	return nil
}

// entries returns at most limit entries of a folder, sorted by name.
func (c call) entries(ctx context.Context, dir string, limit int) ([]fs.DirEntry, error) {
	f, err := c.openPlain(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []fs.DirEntry
	for len(list) < limit {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		some, err := f.ReadDir(min(maxPiece, limit-len(list)))
		list = append(list, some...)
		if err != nil && !errors.Is(err, io.EOF) && len(list) == 0 {
			return nil, err
		}
		if err != nil || len(some) == 0 {
			break
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
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
		if out, err := excluded.matches(ctx, it.name); err != nil || out {
			return "", cmp.Or(err, fs.SkipDir)
		}
		if in, err := wanted.matches(ctx, it.name); err != nil || !in {
			return "", err
		}
		if it.dir() {
			return it.name + "/", nil
		}
		return it.name, nil
	})
}

// lines walks a folder and returns the lines that line returns for its items, without empty ones.
// The result states what was left out.
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
		note = addNote(note,
			fmt.Sprintf("[more is left out: an answer has at most %d lines; look into one folder at a time]",
				maxListed))
	case n == 0 && note == "":
		note = "[nothing]"
	}
	return b.String() + note, nil
}

// addNote appends a line to the notes about what is left out.
func addNote(note, line string) string { return strings.TrimPrefix(note+"\n"+line, "\n") }

func orRoot(p string) string {
	if p == "" {
		return "."
	}
	return p
}
