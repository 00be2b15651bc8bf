package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/tool"
)

// program is one entry of commands.
type program struct {
	// name is the entry as written in the spec, path the file that it refers to; an empty path
	// means that it was not found, and err says why.
	name, path string
	err        error
}

// programs resolves the entries of commands to files: a path is resolved against the folder of the
// toolset; a bare name is looked up on PATH, once, and never in a working directory.
func (t *Toolset) programs() []program {
	var out []program
	for _, name := range t.opts.Commands {
		p := program{name: name}
		if strings.ContainsAny(name, `/\`) {
			if p.path = name; !filepath.IsAbs(name) {
				p.path = filepath.Join(t.dir, name)
			}
		} else if p.path, p.err = exec.LookPath(name); p.err == nil {
			p.path, p.err = filepath.Abs(p.path)
		}
		out = append(out, p)
	}
	return out
}

// program returns the program that the first word of argv refers to; ok is false if the spec lists
// commands and this is not one of them.
func (t *Toolset) program(word string) (p program, ok bool) {
	i := slices.IndexFunc(t.listed, func(p program) bool {
		return p.name == word || p.path == word && strings.ContainsAny(p.name, `/\`)
	})
	if i < 0 {
		return program{}, false
	}
	return t.listed[i], true
}

// folder returns the folder, without links, that a call runs in: the toolset's folder or a folder
// below it (SEC16).
func (t *Toolset) folder(cwd string) (string, error) {
	root, err := filepath.EvalSymlinks(t.dir)
	if err != nil {
		return "", fmt.Errorf("folder %s not found", t.dir)
	}
	if cwd == "" {
		return root, nil
	}
	if strings.Contains(cwd, "\x00") {
		return "", fmt.Errorf("cwd %q contains a character that is not allowed in paths", cwd)
	}
	at := filepath.Join(root, cwd)
	if filepath.IsAbs(cwd) {
		at = filepath.Clean(cwd)
	}
	plain, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", fmt.Errorf("folder %s not found", at)
	}
	if rel, err := filepath.Rel(root, plain); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("cwd %q is outside of the folder %s, in which programs run", cwd, t.dir)
	}
	return plain, nil
}

// Resources returns the folder that a call runs in, as written and with links resolved.
func (s shellTool) Resources(_ context.Context, c tool.Call) ([]tool.Resource, error) {
	if !strings.Contains(string(s.def.Parameters), `"cwd"`) {
		return nil, nil
	}
	var a arguments
	if len(c.Arguments) > 0 && json.Unmarshal(c.Arguments, &a) != nil {
		return nil, nil //nolint:nilerr // the call itself says what is wrong
	}
	r := tool.Resource{Argument: "cwd"}
	plain, err := s.set.folder(a.Cwd)
	if err != nil {
		return []tool.Resource{r}, nil //nolint:nilerr // the call itself says what is wrong
	}
	written := filepath.Join(s.set.dir, a.Cwd)
	if filepath.IsAbs(a.Cwd) {
		written = filepath.Clean(a.Cwd)
	}
	root, err := filepath.EvalSymlinks(s.set.dir)
	if err != nil {
		return []tool.Resource{r}, nil //nolint:nilerr // as above
	}
	r.Names = append(r.Names, below(root, plain))
	if in := below(s.set.dir, written); len(in) > 1 && in[0] != r.Names[0][0] {
		r.Names = append(r.Names, in)
	}
	for _, names := range r.Names {
		for _, n := range names {
			if n != "." {
				r.Also = append(r.Also, n+"/") // the command runs among what is in the folder
			}
		}
	}
	return []tool.Resource{r}, nil
}

// below returns the names of a folder: relative to root, and absolute.
func below(root, folder string) []string {
	rel, err := filepath.Rel(root, folder)
	if err != nil || !filepath.IsLocal(rel) {
		return []string{filepath.ToSlash(folder)}
	}
	return []string{filepath.ToSlash(rel), filepath.ToSlash(folder)}
}
