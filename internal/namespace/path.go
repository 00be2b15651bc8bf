package namespace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store/sqlite/accessdb"
)

// Path gives the path of a namespace's store: <db without .db>.namespaces/<name>.db, or db itself for access.DefaultNamespace. db is the path of the default store,
// which may be a link: the file that it leads to counts. service.Memory has no files: each namespace is one more service.Memory.
//
// Errors: *access.InvalidError for what is no name (SEC16); those of following links.
func Path(db, name string) (string, error) {
	if err := access.CheckNamespace(name); err != nil {
		return "", err
	}
	if name == access.DefaultNamespace || db == service.Memory {
		return db, nil
	}
	file, err := filepath.EvalSymlinks(db)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = db, nil
	}
	if err == nil {
		file, err = filepath.Abs(file)
	}
	if err != nil {
		return "", fmt.Errorf("find the store of a namespace: %w", err)
	}
	return filepath.Join(strings.TrimSuffix(file, ".db")+".namespaces", name+".db"), nil
}

// Store is where tokens, namespaces and the audit log are kept.
type Store interface {
	access.Store
	access.Log
}

// StoreOf gives the tokens, namespaces and audit log that stand in the store of a service, which is that of access.DefaultNamespace. It lives as long as the service.
// A service on service.Memory has a new, empty one at each call.
func StoreOf(s *service.Service) Store {
	if file := s.File(); file != nil {
		return accessdb.New(file)
	}
	return &access.Memory{}
}
