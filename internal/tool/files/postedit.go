package files

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool"
)

// Limits of a command of post_edit.
const (
	postEditTimeout = 60 * time.Second
	postEditBytes   = 8 << 10
)

// postEdit is a command that runs after a file was written.
type postEdit struct {
	pattern *regexp.Regexp
	whole   bool // the pattern is of paths, not of names
	cmd     string
}

func newPostEdit(p tool.PostEdit) (postEdit, error) {
	re, err := globPattern(p.Path)
	if err != nil || p.Path == "" || p.Cmd == "" {
		return postEdit{}, fmt.Errorf("path %q must be a pattern such as *.go, and cmd a command", p.Path)
	}
	return postEdit{pattern: re, whole: strings.Contains(p.Path, "/"), cmd: p.Cmd}, nil
}

// edited runs what is to run after the file was written and adds what it said to the answer. The path of the file is given to a command as the
// variable file, which it writes as "${file}", and is never put into its text: a name is not code.
func (c call) edited(ctx context.Context, name, answer string) (string, error) {
	for _, p := range c.set.after {
		subject := name
		if !p.whole {
			subject = path.Base(name)
		}
		if !p.pattern.MatchString(subject) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, postEditTimeout)
		out, err := process.Run(limited, process.Program{
			Shell: p.cmd, Dir: c.set.dir, Env: c.set.environment(filepath.Join(c.set.dir, filepath.FromSlash(name))), MaxBytes: postEditBytes,
		})
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil:
			answer += fmt.Sprintf("\nthe file was written, but the command after edits %q was not run to its end: %v", p.cmd, err)
		case out.Code != 0:
			answer += fmt.Sprintf("\nthe file was written, but the command after edits %q failed (%s): %s", p.cmd, out.State, strings.TrimSpace(out.Stdout+out.Stderr))
		}
	}
	return answer, nil
}
