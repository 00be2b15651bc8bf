package files_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/tool/files"
)

// repository is a folder of files in which git decides what is ignored.
type repository struct {
	dir   string
	env   []string
	paths []string // all files and folders except git's own; folders end with a slash
}

// newRepository creates a repository with the files of paths; it skips the test if git is not
// installed.
func newRepository(t *testing.T, paths ...string) *repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed, and what it ignores is compared")
	}
	if runtime.GOOS != "linux" {
		t.Skip("names such as a* cannot be files on Windows, and a and A are one file there and on macOS")
	}
	home := t.TempDir()
	r := &repository{dir: t.TempDir(), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}}
	r.git(t, nil, "init", "-q")
	for _, p := range paths {
		put(t, r.dir, p, "")
		for ; p != "."; p = filepath.Dir(p) {
			name := p
			if !slices.Contains(paths, p) {
				name += "/"
			}
			if !slices.Contains(r.paths, name) {
				r.paths = append(r.paths, name)
			}
		}
	}
	slices.Sort(r.paths)
	return r
}

func (r *repository) git(t testing.TB, in []byte, args ...string) []byte {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env, c.Stdin = r.dir, r.env, bytes.NewReader(in)
	out, err := c.Output()
	// 1 means nothing is ignored
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("git %q: %v", args, err)
	}
	return out
}

// shown returns the paths that git does not ignore.
func (r *repository) shown(t testing.TB) []string {
	t.Helper()
	var in []byte
	for _, p := range r.paths {
		in = append(in, strings.TrimSuffix(p, "/")+"\x00"...) // with the slash git would look inside the folder
	}
	out := r.git(t, in, "check-ignore", "--no-index", "-z", "--stdin")
	ignored := strings.Split(string(out), "\x00")
	return slices.DeleteFunc(slices.Clone(r.paths), func(p string) bool {
		return slices.Contains(ignored, strings.TrimSuffix(p, "/"))
	})
}

// found returns the paths that a toolset finds.
func (r *repository) found(t *testing.T, ts *files.Toolset) []string {
	t.Helper()
	text := do(t, ts, "search_files", obj{"pattern": "**/*"}).Text
	var list []string
	for line := range strings.Lines(text) {
		if p := strings.TrimSuffix(line, "\n"); !strings.HasSuffix(p, ".gitignore") && p != "[nothing]" {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// names holds names of files and folders on which pattern matching can go wrong.
var names = []string{
	"a", "b", "ab", "abc", "a b", "a ", "log", "a.log", ".log", "{a,b}", "[ab]", "[", "]", "a]", "*", "**", "a*b", "é",
	"aéb", "#a", "!a", `a\b`, "a-b", "-", "^", "A", "1", "a\tb", "build", "x.tar.gz", "?", "~",
}

// tree returns paths of three levels.
func tree() (list []string) {
	for _, n := range names {
		list = append(list, "files/"+n)
	}
	for i, n := range names {
		m := names[(i+7)%len(names)]
		list = append(list, "dirs/"+n+"/"+m, "a/"+n+"/b/"+m)
	}
	return append(list, "top", "a/top.log", "a/b.log")
}

// TestIgnore_MatchesGit checks that the tools leave out exactly what git ignores, for pattern files
// on which matchers differ.
func TestIgnore_MatchesGit(t *testing.T) {
	t.Parallel()
	r := newRepository(t, tree()...)
	ts := open(t, r.dir, "")
	for _, text := range []string{
		"a/**", "**/a", "/**", "**", "a/**/b", "a**b", "**a", "a/**b", "/a/**/", "*/a", "a/*", "!a", "*\n!a",
		"*\n!*/\n!*.log", "dirs/*\n!dirs/a", "dirs/\n!dirs/a/", "a ", `a\ `, "a  ", "a\t", "#a", `\#a`, `\!a`, "!", "/",
		"//", "!/",
		"[]]", "[!]]", "[^]]", "[a-b]", "[b-a]", "[z-ab]", "[a-]", "[-a]", "[!a]", "[", "[a", "[]", "[!]", `[\]]`,
		`[a\-b]`, "[[:alpha:]]", "[[:nope:]]", "[[:alpha:]b]", "[![:alpha:]]", "[[:punct:]]", "[[]", "[a/b]",
		"?", "??", "a?b", "é", "a?b\na??b", "{a,b}", "*.log", "*.tar.*", `a\`, `a\\b`, `\a`, "***", "a***", "files/***",
		"\uFEFFa", "a\r\n", "a\r", "a\x00b", "log/", "a/", "/a", "/files/a", "files/a/", "./a", "a/.", "../a", "a//b",
		"**/", "**/**", "/*/a", "A", "*[", "[*]", "[?]", "^", "[^]", "~",
		"files\n!files/a", "*\n!/files\n!a", "*a*b*", "**/dirs/**/a", "dirs/**/b", "[[:space:]]", "a[[:blank:]]b",
		"*[!a-z]*", "[--9]", "[+--]", `[\\]`, `[!\\]`, "[é]", "[!é]", "a[é]b", "[\x80-\xff]*",
		"*[!a]*/*", "a*[.-0]*", "a[!b]b", "***/*", `**\/*`, `a/**\/b`, "[a-c-e]", "[[:digit:]-a]", "a/**/**/b",
		"*/**/*.log", "**/*/a",
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			put(t, r.dir, ".gitignore", text)
			compare(t, r, ts)
		})
	}
}

func compare(t *testing.T, r *repository, ts *files.Toolset) {
	t.Helper()
	if d := differ(r.shown(t), r.found(t, ts)); d != "" {
		t.Error(d)
	}
}

// differ describes the difference between two lists.
func differ(git, toolset []string) string {
	missing := slices.DeleteFunc(slices.Clone(git), func(p string) bool { return slices.Contains(toolset, p) })
	more := slices.DeleteFunc(slices.Clone(toolset), func(p string) bool { return slices.Contains(git, p) })
	if len(missing)+len(more) == 0 {
		return ""
	}
	return fmt.Sprintf("git alone shows %q, the toolset alone %q", missing[:min(5, len(missing))],
		more[:min(5, len(more))])
}

// unsure matches patterns such as `a**/b`, for which git before 2.41 compares the memory addresses
// of the pattern and the path.
var unsure = regexp.MustCompile(`[^/]\*\*+(/|\\/)`)

// TestIgnore_MatchesGitRandom checks the same for random patterns, in nested folders and in
// .git/info/exclude.
func TestIgnore_MatchesGitRandom(t *testing.T) {
	t.Parallel()
	r := newRepository(t, tree()...)
	ts := open(t, r.dir, "")
	part := rapid.SampledFrom(append([]string{
		"*", "*", "**", "/", "/", "?", "[ab]", "[!a]", "[^b]", "[]]", "[a-c]", "[[:alpha:]]", `\*`, `\`, "!", "#", " ",
		".", "[", "]", "{", ",", "-", "a", "b", "files", "dirs", "\r",
	}, names...))
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "")
	}).
		Filter(func(line string) bool { return !unsure.MatchString(line) })
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(line, 0, 5).Draw(t, "lines"), "\n")
	})
	rapid.Check(t, func(rt *rapid.T) {
		said := ""
		for _, file := range []string{".gitignore", "a/.gitignore", "dirs/.gitignore", "dirs/a/.gitignore",
			".git/info/exclude"} {
			content := text.Draw(rt, file)
			put(t, r.dir, file, content)
			said += fmt.Sprintf("%s: %q\n", file, content)
		}
		if d := differ(r.shown(t), r.found(t, ts)); d != "" {
			rt.Fatalf("%s%s", said, d)
		}
	})
}

// TestIgnore_NotRegularFile checks that a .gitignore that is a link is not followed, as in git, and
// that nothing else that is not a regular file is read.
func TestIgnore_NotRegularFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "rules", "kept\n")
	put(t, dir, "a/kept", "")
	put(t, dir, "b/.gitignore/kept", "")
	if err := os.Symlink("../rules", filepath.Join(dir, "a/.gitignore")); err != nil {
		t.Skip("no links can be made here:", err)
	}
	got := do(t, open(t, dir, ""), "search_files", obj{"pattern": "kept"}).Text
	if want := "a/kept\nb/.gitignore/kept\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
