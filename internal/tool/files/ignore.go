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

// Limits of .gitignore files. If a file exceeds one, the folder that it applies to is left out as a
// whole and the result names the limit: a file that was not read completely must not reveal what it
// would have hidden.
const (
	maxIgnoreBytes    = 256 << 10 // per file
	maxIgnorePatterns = 5000      // per file
	maxIgnoreInForce  = 20_000    // of a folder and its parent folders
)

// rule is one line of a .gitignore.
type rule struct {
	glob
	not  bool
	dirs bool // folders only
}

// rules holds the rules that apply in one folder: those of its own .gitignore, and through above
// those of its parent folders. A nil *rules has no rules. It is safe for concurrent use.
type rules struct {
	above *rules
	base  string // folder of the file; "." is the root
	list  []rule
	total int // including the rules above
}

// vcs lists the folders in which version control systems keep their data.
var vcs = []string{".git", ".hg", ".svn", ".jj"}

// errIgnore reports a .gitignore file that exceeds a limit.
type errIgnore struct{ dir, what string }

func (e *errIgnore) Error() string {
	return fmt.Sprintf("[the contents of %s are left out: %s/.gitignore has more than %s; set the option ignore_vcs: "+
		"false to show them]", e.dir, e.dir, e.what)
}

// rulesFor returns the rules that apply in dir: rs and the rules of the .gitignore in dir. It
// returns a *errIgnore or the error of ctx.
func (c call) rulesFor(ctx context.Context, dir string, rs *rules) (*rules, error) {
	if dir == "." {
		var err error
		if rs, err = c.readRules(ctx, ".git/info/exclude", dir, rs); err != nil {
			return nil, err
		}
	}
	return c.readRules(ctx, path.Join(dir, ".gitignore"), dir, rs)
}

// readRules adds the rules of a file to those above. Like git, it does not follow a link.
func (c call) readRules(ctx context.Context, name, dir string, above *rules) (*rules, error) {
	if st, err := c.root.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return above, nil // missing or not a file
	}
	f, _, err := c.open(ctx, name)
	if err != nil {
		return above, nil // unreadable, for git as well
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
		return nil, &errIgnore{dir, fmt.Sprintf("the limit of %d patterns, those of the folders above it included",
			maxIgnoreInForce)}
	}
	return rs, nil
}

// parseRules parses a file as described in gitignore(5) and stops after maxIgnorePatterns+1 rules.
// It returns errPatternLength if a pattern is too long.
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

// parseRule parses a line. ok is false for lines that are not rules and for rules that match
// nothing. It returns errPatternLength if the pattern is too long.
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
	r.text = strings.Clone(r.text) // do not retain the whole file
	return r, true, nil
}

// trimBlanks removes trailing blanks that are not escaped by a backslash.
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

// ignores reports whether the entry at name is ignored. The last rule that matches decides, and the
// rules of deeper folders take precedence. It returns only the error of ctx.
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
