package files

import (
	"bufio"
	"bytes"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxIgnoreBytes bounds a .gitignore; what follows is not read.
const maxIgnoreBytes = 256 << 10

// rule is one line of a .gitignore.
type rule struct {
	pattern *regexp.Regexp
	base    string // the folder of the file that holds it; "." is the root
	not     bool
	dirs    bool // for folders alone
}

// rules are those that hold in one folder, the last that matches winning.
type rules []rule

// vcs are the folders in which systems of versions keep their own.
var vcs = []string{".git", ".hg", ".svn", ".jj"}

// below gives the rules that hold in dir, which those of its own .gitignore are added to.
func (c call) below(dir string, rs rules) rules {
	f, _, err := c.open(path.Join(dir, ".gitignore"))
	if err != nil {
		return rs // none, or none that is a file
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreBytes))
	if err != nil {
		return rs
	}
	out := slices.Clone(rs)
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		if r, ok := parseRule(sc.Text(), dir); ok {
			out = append(out, r)
		}
	}
	return out
}

// parseRule reads a line as gitignore(5) has it; false for lines that are no rule.
func parseRule(line, dir string) (rule, bool) {
	line = strings.TrimRight(line, " \t\r")
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	r := rule{base: dir}
	if line[0] == '!' {
		r.not, line = true, line[1:]
	}
	line, r.dirs = strings.CutSuffix(line, "/")
	// A slash anywhere but at the end binds the pattern to the folder of the file; without one it holds at any depth.
	if anchored := strings.Contains(line, "/"); anchored {
		line = strings.TrimPrefix(line, "/")
	} else {
		line = "**/" + line
	}
	if line == "" || line == "**/" {
		return rule{}, false
	}
	var err error
	r.pattern, err = globPattern(line)
	return r, err == nil
}

// ignores tells whether what stands at name is left out.
func (rs rules) ignores(name string, dir bool) bool {
	if dir && slices.Contains(vcs, path.Base(name)) {
		return true
	}
	for _, r := range slices.Backward(rs) {
		rel := name
		if r.base != "." {
			rel = strings.TrimPrefix(name, r.base+"/")
		}
		if (dir || !r.dirs) && r.pattern.MatchString(rel) {
			return !r.not
		}
	}
	return false
}
