package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/tool"
)

// maxPathBytes is the maximum length of a path, as in operating systems.
const maxPathBytes = 4096

// refusal is a failure that is reported to the model as the tool's result.
type refusal struct{ message string }

func (r *refusal) Error() string { return r.message }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// encoded matches percent-encoded dots, slashes, backslashes and NUL. Paths are not decoded here,
// so a path that contains one of these does not mean what its author intended.
var encoded = regexp.MustCompile(`(?i)%(25)*(2e|2f|5c|00)`)

// scheme matches the start of a URL.
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:/`)

// drive matches the start of a path that Windows would interpret as a drive letter.
var drive = regexp.MustCompile(`^[A-Za-z]:`)

// devices matches names that Windows reserves, with any extension.
var devices = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*([.:]|$)`)

// resolve returns the name within the root for a path written by a model, or an error that explains
// why there is none (SEC16). Links are checked by the root itself.
func (t *Toolset) resolve(p string) (string, error) {
	switch {
	case p == "":
		return "", refuse("the path is empty; `.` is the folder itself")
	case len(p) > maxPathBytes:
		return "", refuse("the path has %d bytes, more than the limit of %d", len(p), maxPathBytes)
	case strings.ContainsAny(p, "\x00\uFFFD") || !utf8.ValidString(p):
		return "", refuse("path %q contains characters that are not allowed in paths", p)
	case encoded.MatchString(p):
		return "", refuse("path %q is percent-encoded; write it unencoded", p)
	case scheme.MatchString(p):
		return "", refuse("path %q is a URL; name the file by its path", p)
	case strings.HasPrefix(p, "~"):
		return "", t.outside(p)
	}
	if filepath.IsAbs(p) {
		rel, err := filepath.Rel(t.dir, filepath.Clean(p))
		if err != nil || !filepath.IsLocal(rel) {
			return "", t.outside(p)
		}
		return filepath.ToSlash(rel), nil
	}
	switch {
	case strings.Contains(p, `\`) || drive.MatchString(p):
		return "", refuse("path %q is a Windows path; use a path with / that is relative to the folder of the toolset",
			p)
	case strings.HasPrefix(p, "/") || !filepath.IsLocal(filepath.FromSlash(p)):
		return "", t.outside(p)
	}
	return path.Clean(p), nil
}

// resolveNew is resolve for paths that may be created: it also rejects names that are devices on
// some system, and the folder itself.
func (t *Toolset) resolveNew(p string) (string, error) {
	name, err := t.resolve(p)
	switch {
	case err != nil:
		return "", err
	case name == ".":
		return "", refuse("path %q is the folder of the toolset itself", p)
	case slices.ContainsFunc(strings.Split(name, "/"), devices.MatchString):
		return "", refuse("path %q contains a name that Windows reserves for a device", p)
	}
	return name, nil
}

func (t *Toolset) outside(p string) error {
	return refuse("path %q is outside of the folder %s; only paths inside it are accessible", p, t.dir)
}

// report describes a failure for the model. An error that is not about files is returned as the
// tool's own error.
func report(name string, err error) (tool.Result, error) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return tool.Result{Text: r.message, IsError: true}, nil
	}
	at, cause := "", error(nil)
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		at, cause = pe.Path, pe.Err
	} else if le, ok := errors.AsType[*os.LinkError](err); ok {
		at, cause = le.Old, le.Err
	}
	switch {
	case cause == nil:
		return tool.Result{}, err
	case errors.Is(cause, fs.ErrNotExist):
		return tool.Result{Text: fmt.Sprintf("file %q not found", at), IsError: true}, nil
	case strings.Contains(cause.Error(), "escapes from parent"):
		return tool.Result{
			Text: fmt.Sprintf("path %q is outside the folder of the toolset; only paths inside it are accessible",
				at),
			IsError: true,
		}, nil
	}
	return tool.Result{Text: fmt.Sprintf("%s: %s: %v", name, at, cause), IsError: true}, nil
}
