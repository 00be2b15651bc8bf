package files

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/tool"
)

// Limits of a post_edit command.
const (
	postEditTimeout = 60 * time.Second
	postEditBytes   = 8 << 10
)

// postEdit is a command that runs after a file was written.
type postEdit struct {
	pattern glob
	cmd     string
}

func newPostEdit(p tool.PostEdit) (postEdit, error) {
	pattern, err := newGlob(p.Path, false)
	if err != nil || p.Path == "" || p.Cmd == "" {
		return postEdit{}, fmt.Errorf("path %q must be a pattern such as *.go, and cmd a command", p.Path)
	}
	return postEdit{pattern: pattern, cmd: p.Cmd}, nil
}

// runPostEdit runs the post_edit commands for a written file and appends their failures to the
// answer. A command refers to the path of the file through the environment variable file, as
// "${file}"; the path is never inserted into the command text, because a file name must not be run
// as code.
func (c call) runPostEdit(ctx context.Context, name, answer string) (string, error) {
	for _, p := range c.set.after {
		if !p.pattern.match(name) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, postEditTimeout)
		out, err := process.Run(limited, process.Program{
			Shell: p.cmd, Dir: c.set.dir, Env: c.set.environment(filepath.Join(c.set.dir, filepath.FromSlash(name)),
				c.key), MaxBytes: postEditBytes,
		})
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil:
			answer += fmt.Sprintf("\nthe file was written, but the command after edits %q did not finish: %v", p.cmd,
				err)
		case out.Code != 0:
			answer += fmt.Sprintf("\nthe file was written, but the command after edits %q failed (%s): %s", p.cmd,
				out.State, strings.TrimSpace(out.Stdout+out.Stderr))
		}
	}
	return answer, nil
}
