package cli

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// TestNextStep checks that errors of the machine name the path and what to do, whatever verb meets
// them.
func TestNextStep(t *testing.T) {
	t.Parallel()
	denied := &fs.PathError{Op: "open", Path: "/x/doc.yaml", Err: syscall.EACCES}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("open store: %w", denied), "give this user access to /x/doc.yaml, or name another path"},
		{service.Refuse(errcode.FileUnreadable, errcode.Fields{"file": "doc.yaml", "problem": "permission denied"},
			denied),
			"give this user access to /x/doc.yaml, or name another path"},
		{&fs.PathError{Op: "write", Path: "/x/c.yaml", Err: syscall.ENOSPC},
			"free space on the disk of /x/c.yaml, then run the command again"},
		{fmt.Errorf("register owner: %w", journal.ErrFull),
			"free space on the disk of /x/h.db, or name another store with --db; then run the command again"},
		{service.Refuse(errcode.FileTooLarge, errcode.Fields{"file": "a", "max": 1, "limit": "l"}, nil),
			"shorten it; a long text can stay in a file that a tool reads"},
		{fs.ErrNotExist, ""},
	} {
		a := &app{db: "/x/h.db"}
		a.Env = func(string) string { return "" }
		if got := a.nextStep(c.err); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}
