package resources

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/files"
)

// ownFiles returns a function that reports whether a path is one of the operator's own files: the
// configuration, the prices, the store with the files next to it (write-ahead log, owners, key,
// token, namespaces). Toolsets cannot access them: anything that a model writes there would affect
// later runs.
func (op *Opener) ownFiles() files.Own {
	var paths []string
	add := func(path string) {
		if path == "" {
			return
		}
		if abs, err := filepath.Abs(path); err == nil {
			// The name itself too: otherwise a file that replaces a link would be read.
			paths = append(paths, tool.Plain(abs), filepath.Join(tool.Plain(filepath.Dir(abs)), filepath.Base(abs)))
		}
	}
	path, _ := config.Find("", op.cfg.Env)
	add(path)
	add(op.cfg.Operator.Path)
	add(op.cfg.Operator.Prices)
	for _, at := range op.cfg.Stores {
		for _, p := range append(at.Files(), at.Beside("token")) {
			add(p)
		}
	}
	return func(path string, info fs.FileInfo, below bool) bool {
		return slices.ContainsFunc(paths, func(own string) bool {
			switch {
			case strings.EqualFold(own, path), isBelow(path, own), below && isBelow(own, path):
				return true
			case info == nil || info.IsDir():
				return false
			}
			is, err := os.Stat(own)
			return err == nil && os.SameFile(is, info)
		})
	}
}

// isBelow reports whether path is in folder.
func isBelow(path, folder string) bool {
	prefix := strings.TrimSuffix(folder, string(filepath.Separator)) + string(filepath.Separator)
	return len(path) > len(prefix) && strings.EqualFold(path[:len(prefix)], prefix)
}
