package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Limits of what [Guess] looks at.
const (
	maxGuessed    = 5000
	maxGuessBytes = 4096
	maxGuessDepth = 16
)

// The kinds of [Resource.As].
const (
	pathKind = "path"
	urlKind  = "url"
)

// Guess returns the paths and addresses that a tool about which nothing is known could take the
// strings in arguments for. dir is the folder that the tool works in; empty means that it is not on
// this machine. Strings are examined at any depth. Rules that deny are compared with all
// interpretations; rules that allow are compared with the string and, if it is a link, with its
// target. A string that contains a slash or names something in dir is a path, whatever the name of
// its argument. If name, the name of the tool, says that it moves, copies or removes things, naming
// a folder reaches everything in it.
//
// It returns an *Error of kind invalid_arguments if there are too many strings or they are nested
// too deeply, or the cancellation cause of ctx.
func Guess(ctx context.Context, dir, name string, arguments json.RawMessage) ([]Resource, error) {
	var args map[string]any
	if json.Unmarshal(arguments, &args) != nil {
		return nil, nil //nolint:nilerr // the call itself says what is wrong
	}
	g := guesser{ctx: ctx, dir: dir, dirs: []string{dir}, whole: takesWhole.MatchString(name)}
	if dir != "" {
		g.dirs = append(g.dirs, Plain(dir))
	}
	g.object(args, "", 0)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortStableFunc(g.out, func(a, b Resource) int {
		return cmp.Or(strings.Compare(a.Argument, b.Argument), slices.Compare(a.Also, b.Also))
	})
	if g.limitExceeded {
		return nil,
			Errorf(KindInvalidArguments, "", "the arguments have more than %d texts, or texts nested more than %d "+
				"levels deep, so permissions cannot be checked", maxGuessed, maxGuessDepth)
	}
	return g.out, nil
}

// takesWhole matches the names of tools that do something to a folder with everything in it.
var takesWhole = regexp.MustCompile(`(?i)move|rename|copy|delete|remove|trash|archive|compress|zip|upload|` +
	`(^|[^a-z])(mv|cp|rm|rmdir|tar)([^a-z]|$)`)

type guesser struct {
	ctx           context.Context
	dir           string
	dirs          []string // dir as passed in, and with links resolved
	whole         bool     // the tool may take whole folders
	out           []Resource
	limitExceeded bool // too many strings, or nested too deeply
}

func (g *guesser) object(args map[string]any, above string, depth int) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if depth > 0 { // file names may be keys
			parts := strings.Split(strings.TrimSuffix(above, "."), ".")
			g.value(parts[len(parts)-1], strings.TrimSuffix(above, "."), name, depth)
		}
		g.value(name, above+name, args[name], depth)
	}
}

func (g *guesser) value(name, at string, v any, depth int) {
	if depth > maxGuessDepth || len(g.out) >= maxGuessed {
		g.limitExceeded = true
		return
	}
	switch v := v.(type) {
	case map[string]any:
		g.object(v, at+".", depth+1)
	case []any:
		for _, one := range v {
			g.value(name, at, one, depth+1)
		}
	case string:
		if g.ctx.Err() != nil {
			return
		}
		var inner any
		if t := strings.TrimSpace(v); (strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[")) &&
			json.Unmarshal([]byte(t), &inner) == nil {
			g.value(name, at, inner, depth+1)
		}
		if v == "" || len(v) > maxGuessBytes || strings.ContainsAny(v, "\n\x00") {
			return
		}
		r := g.text(v)
		r.Argument = name
		if g.out = append(g.out, r); at != name {
			r.Argument = at
			g.out = append(g.out, r)
		}
	}
}

// text returns what one string could be interpreted as.
func (g *guesser) text(v string) Resource {
	r := Resource{Guess: true}
	for _, at := range spelledAsPath(strings.TrimSpace(v)) {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" {
			continue
		}
		r.As = []string{urlKind}
		address := AddressOf("", u)
		for _, names := range address.Names {
			r.Also = append(r.Also, names...)
		}
		r.Also = append(r.Also, address.Also...)
	}
	isPath := false
	for _, p := range spelledAsPath(v) {
		isPath = isPath || strings.Contains(p, "/")
		r.Also = append(r.Also, p, path.Clean(p))
		if g.dir == "" {
			r.Also = append(r.Also, path.Clean(p)+"/") // it may be a folder
			continue
		}
		abs := filepath.FromSlash(p)
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(g.dir, abs)
		}
		abs = filepath.Clean(abs)
		r.Also = append(r.Also, g.names(abs)...)
		names := g.names(Plain(abs))
		if r.Also = append(r.Also, names...); !slices.Contains(names, path.Clean(filepath.ToSlash(p))) {
			r.Names = append(r.Names, names) // it leads somewhere other than it says
		}
		st, err := os.Stat(abs)
		isPath = isPath || err == nil
		if err == nil && st.IsDir() && !slices.Contains(names, ".") {
			r.Below = g.whole
			for _, n := range append(names, g.names(abs)...) {
				r.Also = append(r.Also, n+"/") // what is in the folder is reached through it
			}
		}
	}
	if isPath {
		r.As = append(r.As, pathKind)
	}
	slices.Sort(r.Also)
	r.Also = slices.Compact(r.Also)
	return r
}

// names returns the spellings of a path: absolute, and relative to the folder of the tool.
func (g *guesser) names(abs string) []string {
	out := []string{filepath.ToSlash(abs)}
	for _, dir := range g.dirs {
		if rel, err := filepath.Rel(dir, abs); err == nil && filepath.IsLocal(rel) &&
			!slices.Contains(out, filepath.ToSlash(rel)) {
			out = append([]string{filepath.ToSlash(rel)}, out...)
		}
	}
	return out
}

// spelledAsPath returns the paths that a string could mean: as is, as a file: URL, with
// percent-encoding decoded, and with Windows slashes.
func spelledAsPath(v string) []string {
	out := []string{v}
	if u, err := url.Parse(v); err == nil && strings.EqualFold(u.Scheme, "file") && u.Path != "" {
		out = append(out, u.Path)
	}
	for at := v; strings.Contains(at, "%"); {
		text, err := url.PathUnescape(at)
		if err != nil || text == at || len(out) > 4 {
			break
		}
		out = append(out, text)
		at = text
	}
	for _, p := range slices.Clone(out) {
		if strings.Contains(p, `\`) {
			out = append(out, strings.ReplaceAll(p, `\`, "/"))
		}
	}
	return out
}

// Plain returns an absolute path with links resolved, as far as the path exists.
func Plain(abs string) string {
	abs = filepath.Clean(abs)
	from := len(filepath.VolumeName(abs))
	if from < len(abs) && os.IsPathSeparator(abs[from]) {
		from++
	}
	ends := []int{from} // ends of the parent folders, topmost first, and of the path itself
	for i := from; i < len(abs); i++ {
		if i+1 == len(abs) {
			ends = append(ends, len(abs))
		} else if os.IsPathSeparator(abs[i]) {
			ends = append(ends, i)
		}
	}
	// Nothing exists below a path that does not exist.
	n := sort.Search(len(ends), func(i int) bool {
		_, err := filepath.EvalSymlinks(abs[:ends[i]])
		return err != nil
	})
	if n == 0 {
		return abs
	}
	plain, err := filepath.EvalSymlinks(abs[:ends[n-1]])
	if err != nil { // removed in the meantime
		return abs
	}
	return filepath.Join(plain, abs[ends[n-1]:])
}
