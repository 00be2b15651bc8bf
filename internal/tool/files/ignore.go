package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Limits of what .gitignore files say. Where one is exceeded, the folder that the file is for is left out as a whole, and the answer names the limit: what was not read whole must not
// show what it was to leave out.
const (
	maxIgnoreBytes    = 256 << 10 // of one file
	maxIgnorePatterns = 5000      // of one file
	maxIgnoreInForce  = 20_000    // of a folder and the folders above it
)

// rule is one line of a .gitignore.
type rule struct {
	glob
	not  bool
	dirs bool // for folders alone
}

// rules are those that hold in one folder: those of its own file, and above them those of the folders above. nil: none. Safe for concurrent use.
type rules struct {
	above *rules
	base  string // the folder of the file; "." is the root
	list  []rule
	total int // with those above
}

// vcs are the folders in which systems of versions keep their own.
var vcs = []string{".git", ".hg", ".svn", ".jj"}

// errIgnore is the error of a .gitignore that exceeds a limit.
type errIgnore struct{ dir, what string }

func (e *errIgnore) Error() string {
	return fmt.Sprintf("[the contents of %s are left out: %s/.gitignore has more than %s; set the option ignore_vcs: false to show them]", e.dir, e.dir, e.what)
}

// below gives the rules that hold in dir, which those of its own .gitignore are added to. Errors: *errIgnore; ctx's.
func (c call) below(ctx context.Context, dir string, rs *rules) (*rules, error) {
	if dir == "." {
		var err error
		if rs, err = c.readRules(ctx, ".git/info/exclude", dir, rs); err != nil {
			return nil, err
		}
	}
	return c.readRules(ctx, path.Join(dir, ".gitignore"), dir, rs)
}

// readRules adds the rules of a file to those above. A link is not followed, as git does it.
func (c call) readRules(ctx context.Context, name, dir string, above *rules) (*rules, error) {
	if st, err := c.root.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return above, nil // none, or none that is a file
	}
	f, _, err := c.open(ctx, name)
	if err != nil {
		return above, nil // it cannot be read, by git neither
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreBytes+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return above, nil // as above
	case len(data) > maxIgnoreBytes:
		return nil, &errIgnore{dir, fmt.Sprintf("the limit of %d bytes", maxIgnoreBytes)}
	}
	list, err := parseRules(string(data))
	rs := &rules{above: above, base: dir, list: list, total: len(list)}
	if above != nil {
		rs.total += above.total
	}
	switch {
	case errors.Is(err, errPatternLength):
		return nil, &errIgnore{dir, fmt.Sprintf("the limit of %d bytes in one pattern", maxPattern)}
	case len(list) > maxIgnorePatterns:
		return nil, &errIgnore{dir, fmt.Sprintf("the limit of %d patterns", maxIgnorePatterns)}
	case rs.total > maxIgnoreInForce:
		return nil, &errIgnore{dir, fmt.Sprintf("the limit of %d patterns, those of the folders above it included", maxIgnoreInForce)}
	}
	return rs, nil
}

// parseRules reads a file as gitignore(5) has it, and ends after maxIgnorePatterns+1 rules. Error: errPatternLength.
func parseRules(text string) (list []rule, err error) {
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
		r, ok, err := parseRule(line)
		switch {
		case err != nil:
			return list, err
		case !ok:
		case len(list) == maxIgnorePatterns:
			return append(list, r), nil
		default:
			list = append(list, r)
		}
	}
	return list, nil
}

// parseRule reads a line; false for lines that are no rule, or one that matches nothing. Error: errPatternLength.
func parseRule(line string) (r rule, ok bool, err error) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false, nil
	}
	line = trimBlanks(line)
	line, r.not = strings.CutPrefix(line, "!")
	line, r.dirs = strings.CutSuffix(line, "/")
	if strings.Trim(line, "/") == "" {
		return rule{}, false, nil
	}
	r.glob, err = newGlob(line, true)
	switch {
	case errors.Is(err, errPattern):
		return rule{}, false, nil
	case err != nil:
		return rule{}, false, err
	}
	r.text = strings.Clone(r.text) // of a file of which little else may be kept
	return r, true, nil
}

// trimBlanks takes away the blanks at the end that no backslash keeps.
func trimBlanks(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			if i++; i == len(line) {
				return line
			}
		}
		end = i + 1
	}
	return line[:end]
}

// ignores tells whether what is at name is left out: the last rule that matches decides, those of deeper folders before those above. Error: ctx's.
func (rs *rules) ignores(ctx context.Context, name string, dir bool) (bool, error) {
	if dir && slices.Contains(vcs, path.Base(name)) {
		return true, nil
	}
	for ; rs != nil; rs = rs.above {
		rel := name
		if rs.base != "." {
			rel = strings.TrimPrefix(name, rs.base+"/")
		}
		for i, r := range slices.Backward(rs.list) {
			if i%checkEvery == 0 && ctx.Err() != nil {
				return false, ctx.Err()
			}
			if (dir || !r.dirs) && r.match(rel) {
				return !r.not, nil
			}
		}
	}
	return false, nil
}
