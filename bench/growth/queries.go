package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
)

// answer is one way to inspect a run, or the list of all runs.
type answer struct {
	name string
	// command returns the arguments of a command line, and path the path of a GET request under
	// /api/v1. run is the id of the run, or "" for the list of all runs. nil and "" mean that there
	// is no such answer.
	command func(run string) []string
	path    func(run string) string
}

// answers lists all ways to show runs.
var answers = []answer{
	{"show", func(run string) []string {
		if run == "" {
			return []string{"runs", "list", "--json", "--limit", "1000000"}
		}
		return []string{"runs", "show", run, "--json"}
	}, func(string) string { return "" }},
	{"get", func(string) []string { return nil }, func(run string) string {
		if run == "" {
			return "/runs"
		}
		return "/runs/" + run
	}},
	{"events", ofRun("runs", "events", "--json"), pathOfRun("events")},
	{"logs", ofRun("runs", "show", "--logs", "--json"), pathOfRun("logs")},
	{"trail", ofRun("runs", "show", "--trail", "--json"), pathOfRun("trail")},
}

// ofRun returns a function that builds the command line showing a run.
func ofRun(args ...string) func(string) []string {
	return func(run string) []string {
		if run == "" {
			return nil
		}
		return append(slices.Clone(args), run)
	}
}

// pathOfRun returns a function that builds a path under that of a run, for one page of the largest
// size.
func pathOfRun(name string) func(string) string {
	return func(run string) string {
		if run == "" {
			return ""
		}
		return "/runs/" + run + "/" + name + "?limit=1000"
	}
}

// counter counts the bytes written to it and discards them.
type counter struct{ n int64 }

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// command runs a command line in this process and returns how many bytes it printed.
func command(ctx context.Context, db string, args ...string) (int64, error) {
	var out counter
	var problems bytes.Buffer
	st := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems, Env: noEnv}
	if status := cli.Main(ctx, append(args, "--db", db), st, cli.Wiring{Version: "bench"}); status != cli.ExitOK {
		return 0, fmt.Errorf("hocket %s: status %d: %s", strings.Join(args, " "), status, &problems)
	}
	return out.n, nil
}

// response counts the bytes of an HTTP response.
type response struct {
	counter
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (r *response) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(status int) { r.status = status }

// reader serves requests on a store through the HTTP API, without a network.
type reader struct {
	service *service.Service
	api     *httpapi.API
}

// openReader opens a store. The caller closes the reader's service.
func openReader(ctx context.Context, db string, api *httpapi.API) (*reader, error) {
	s, err := service.Open(ctx, service.Config{Documents: linked.Kit(), DB: db, Kind: journal.KindServe, Env: noEnv})
	if err != nil {
		return nil, err
	}
	return &reader{s, api}, nil
}

// get requests a path under /api/v1 and returns the size of the response body in bytes.
func (r *reader) get(ctx context.Context, path string) (int64, error) {
	who := access.Principal{Token: "t", Name: "bench", Namespace: access.DefaultNamespace, Role: access.RoleAdmin}
	answer := &response{header: http.Header{}, status: http.StatusOK}
	ctx = transport.With(ctx, &transport.Caller{Principal: who, Service: r.service})
	r.api.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1"+path, http.NoBody))
	if answer.status != http.StatusOK {
		return 0, fmt.Errorf("GET %s: status %d", path, answer.status)
	}
	return answer.n, nil
}

// emptyStore creates a store without runs in a folder, and returns its size.
func emptyStore(ctx context.Context, dir string) (int64, error) {
	db := emptyPath(dir)
	s, err := store.Open(ctx, db, store.Config{})
	if err != nil {
		return 0, err
	}
	if err := s.Close(); err != nil {
		return 0, err
	}
	return fileSize(db)
}

// emptyPath is the path at which emptyStore creates its store.
func emptyPath(dir string) string { return filepath.Join(dir, "empty.db") }

// fileSize returns the size of a store's file and of its log.
func fileSize(db string) (int64, error) {
	st, err := os.Stat(db)
	if err != nil {
		return 0, err
	}
	n := st.Size()
	if st, err := os.Stat(db + "-wal"); err == nil {
		n += st.Size()
	}
	return n, nil
}

// stored returns the total size in bytes of all records of all runs of a store.
func stored(ctx context.Context, db string) (n int64, err error) {
	s, err := store.Open(ctx, db, store.Config{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for cursor := ""; ; {
		page, next, err := s.Journal.List(ctx, journal.Query{Limit: 100, Cursor: cursor})
		if err != nil {
			return 0, err
		}
		for _, h := range page {
			records, err := s.Journal.Read(ctx, h.Run, 0)
			if err != nil {
				return 0, err
			}
			for _, r := range records {
				n += int64(len(r.Data))
			}
		}
		if cursor = next; next == "" {
			return n, nil
		}
	}
}
