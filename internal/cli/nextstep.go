package cli

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
)

// nextStep returns what to do about an error of the machine on which the command runs, or "" for
// other errors. All verbs word it alike.
func (a *app) nextStep(err error) string {
	path := "it"
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Path != "" {
		path = quote(e.Path)
	}
	switch {
	case service.IsFull(err):
		where := "the store"
		if at, err := a.config().Locator(); err == nil && at.URL() == nil {
			where = quote(at.String())
		}
		return "free space on the disk of " + where + ", or name another store with --db; then run the command again"
	case errors.Is(err, syscall.ENOSPC):
		return "free space on the disk of " + path + ", then run the command again"
	case errors.Is(err, fs.ErrPermission):
		return "give this user access to " + path + ", or name another path"
	}
	if code, fields := errcode.Of(err); code == errcode.FileTooLarge {
		return errcode.Hint(code, fields, errcode.Command)
	}
	return ""
}
