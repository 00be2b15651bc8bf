package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/tool"
)

// Kinds of origins. The name in a document is not an origin: anyone can write any name into a
// document.
const (
	originCatalog = "catalog" // with the id of the stored workflow
	originFile    = "file"    // with the path of the document
	originProgram = "program" // with the Go graph whose node the agent is
)

// origin returns the origin of the workflow, or nil if it is unknown.
func (q StartRequest) origin() []string {
	switch {
	case q.Stored != "":
		return []string{originCatalog, q.Stored}
	case q.Place != "":
		return []string{originFile, q.Place}
	case q.Graph != "":
		return []string{originProgram, q.Graph}
	}
	return nil
}

// siblingPath returns the path of a file that a document names with a path relative to its own;
// text is the origin of the document's run. It returns "" if the origin is not a file.
func siblingPath(text, name string) string {
	var origin []string
	if json.Unmarshal([]byte(text), &origin) != nil || len(origin) != 2 || origin[0] != originFile {
		return ""
	}
	return filepath.Join(filepath.Dir(origin[1]), filepath.FromSlash(name))
}

// recordOrigin records the origin of a run, and returns what its document asks a person to allow
// for its memories: a file keeps a memory under its path only if that is trusted. A memory shared
// by several workflows is part of tool.Access. It returns an *InvalidError for a document without
// an origin.
func (q StartRequest) recordOrigin(specs []tool.Spec, meta map[string]string) (asks []string, err error) {
	origin := q.origin()
	if origin != nil {
		text, err := json.Marshal(origin)
		if err != nil {
			return nil, fmt.Errorf("start run: %w", err)
		}
		meta[resources.MetaOrigin] = string(text)
	}
	for _, s := range specs {
		if s.Type != tool.TypeMemory || len(s.Access("")) > 0 {
			continue
		}
		switch {
		case origin == nil:
			return nil, failure.Refuse(errcode.MemoryWithoutOwner, errcode.Fields{"toolset": s.Title()}, nil)
		case origin[0] == originFile:
			line := fmt.Sprintf("keep a memory across runs for %s (toolset %s)", origin[1], s.Title())
			if !slices.Contains(asks, line) {
				asks = append(asks, line)
			}
		}
	}
	return asks, nil
}

// IsPublished reports whether a run executes the currently published version of a stored workflow,
// or a graph of a Go program, rather than a draft, a former version or a document that is not
// stored.
func (s *Runner) IsPublished(ctx context.Context, h journal.Head) (bool, error) {
	if h.Format == definition.FormatGraph {
		return true, nil
	}
	e, number, err := s.ranEntry(ctx, h)
	return err == nil && (number == 0 && e.HasRows || number != 0 && number == e.Published), err
}

// StoredOf returns the id of the stored workflow that a run executes, or "" if it executes another
// document, or a graph.
func StoredOf(h journal.Head) string {
	var origin []string
	if json.Unmarshal([]byte(h.Meta[resources.MetaOrigin]), &origin) != nil || len(origin) != 2 ||
		origin[0] != originCatalog {
		return ""
	}
	return origin[1]
}

// ranEntry returns the stored workflow that a run executes, in its current state, and the version
// number of the run, or 0 if it was built from rows. It returns the zero entry if the workflow is
// not stored.
func (s *Runner) ranEntry(ctx context.Context, h journal.Head) (e catalog.Entry, version int, err error) {
	id := StoredOf(h)
	if id == "" {
		return e, 0, nil
	}
	if e, err = s.definitions.Entry(ctx, id); errors.As(err, new(*failure.NotFoundError)) {
		err = nil
	}
	version, verr := strconv.Atoi(h.Meta[project.MetaVersion])
	if verr != nil {
		version = 0
	}
	return e, version, err
}
