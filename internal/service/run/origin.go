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

// metaDraft marks a run of what was a draft when it began.
const metaDraft = "draft"

// noteVersion notes which version of a stored workflow a run runs, and whether it is the draft.
func (s *Runner) noteVersion(ctx context.Context, q StartRequest, meta map[string]string) error {
	if q.Version == 0 {
		return nil
	}
	meta[project.MetaVersion] = strconv.Itoa(q.Version)
	if q.Stored == "" {
		return nil
	}
	switch e, err := s.definitions.Entry(ctx, q.Stored); {
	case errors.Is(err, catalog.ErrNotFound): // it was deleted since it was read
	case err != nil:
		return fmt.Errorf("start run: %w", err)
	case q.Version == e.Draft:
		meta[metaDraft] = "true"
	}
	return nil
}

// Kinds of origins. A name that a document gives itself is none: anybody can write any name into a document.
const (
	originCatalog = "catalog" // and the id under which the workflow is stored
	originFile    = "file"    // and the place of the document
	originProgram = "program" // and the Go graph whose node the agent is
)

// origin tells where the workflow comes from; nil where that cannot be told.
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

// placeBeside gives the place of a file that a document names by a path relative to its own; text is the origin of the document's run. "": that is no file.
func placeBeside(text, name string) string {
	var origin []string
	if json.Unmarshal([]byte(text), &origin) != nil || len(origin) != 2 || origin[0] != originFile {
		return ""
	}
	return filepath.Join(filepath.Dir(origin[1]), filepath.FromSlash(name))
}

// remember notes the origin of a run, and gives what its document asks a person to allow for its memories: a file keeps one under its path only where that is
// trusted. A memory that several workflows share is among tool.Access. Errors: *InvalidError for a document without an origin.
func (q StartRequest) remember(specs []tool.Spec, meta map[string]string) (asks []string, err error) {
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

// IsPublished tells whether a run runs what is published of a stored workflow now, or a graph of a Go program, and not a draft, a former version or a document
// that is not stored.
func (s *Runner) IsPublished(ctx context.Context, h journal.Head) (bool, error) {
	if h.Format == definition.FormatGraph {
		return true, nil
	}
	e, number, err := s.ranEntry(ctx, h)
	return err == nil && (number == 0 && e.HasRows || number != 0 && number == e.Published), err
}

// IsDraft tells whether a run runs what was the draft of a stored workflow when it began and is not published now, or is its draft now.
func (s *Runner) IsDraft(ctx context.Context, h journal.Head) (bool, error) {
	e, number, err := s.ranEntry(ctx, h)
	return err == nil && number != 0 && number != e.Published && (number == e.Draft || h.Meta[metaDraft] != ""), err
}

// StoredOf gives the id of the stored workflow that a run runs; "": it runs another document, or a graph.
func StoredOf(h journal.Head) string {
	var origin []string
	if json.Unmarshal([]byte(h.Meta[resources.MetaOrigin]), &origin) != nil || len(origin) != 2 || origin[0] != originCatalog {
		return ""
	}
	return origin[1]
}

// ranEntry gives the stored workflow that a run runs, as it is now, and the number of the run's version; 0: it was made of rows. The zero entry: it is not stored.
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
