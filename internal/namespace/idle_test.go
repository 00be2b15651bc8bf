package namespace_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/namespace"
	"github.com/hocket-run/hocket/internal/service"
)

// closings is a log handler that sends the names of the namespaces that are closed.
type closings struct {
	slog.Handler
	c chan string
}

func (h closings) Enabled(context.Context, slog.Level) bool { return true }

func (h closings) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "idle namespace closed" {
		r.Attrs(func(a slog.Attr) bool {
			h.c <- a.Value.String()
			return false
		})
	}
	return nil
}

func (h closings) WithAttrs([]slog.Attr) slog.Handler { return h }

// openFiles returns the files of a store that this process has open.
func openFiles(t *testing.T, db string) (open []string) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && strings.HasPrefix(to, db) {
			open = append(open, to)
		}
	}
	return open
}

// TestSet_Idle checks that a namespace that has no work and is not used is closed with its files,
// and that it is opened by a request, by a change of another process, and when it is time for its
// work. A namespace with work stays open, and so does one that a request uses.
func TestSet_Idle(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var (
		closed = make(chan string, 100)
		opened = make(chan string, 100)
		ended  = make(chan string, 100)
		rest   atomic.Int64 // how long "a" has no work
		asked  = make(chan string, 1)
	)
	rest.Store(int64(time.Hour))
	s := open(t, namespace.Config{
		Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(dir, "hocket.db"),
			Logger: slog.New(closings{c: closed})},
		Maintain: func(ctx context.Context, name string, of *service.Service) {
			opened <- name
			of.Maintain(ctx)
			ended <- name
		},
		Idle: func(ctx context.Context, name string, of *service.Service) time.Time {
			if _, err := of.Entries(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("%s is asked about when it is closed: %v", name, err)
			}
			select {
			case asked <- name:
			default:
			}
			if name == "busy" {
				return time.Time{}
			}
			return time.Now().Add(time.Duration(rest.Load()))
		},
		IdleAfter: time.Millisecond,
	})
	create(t, s, "a")
	create(t, s, "busy")
	next := func(c <-chan string, want string) {
		t.Helper()
		late := time.NewTimer(time.Minute)
		defer late.Stop()
		for {
			select {
			case got := <-c:
				if got == want {
					return
				}
			case <-late.C:
				t.Fatalf("%s: nothing happened for a minute", want)
			}
		}
	}
	next(opened, "a")
	next(ended, "a")
	next(closed, "a")
	db := filepath.Join(dir, "hocket.namespaces", "a.db")
	if runtime.GOOS == "linux" {
		if files := openFiles(t, db); len(files) > 0 {
			t.Errorf("open: %v", files)
		}
	}
	if s.IfOpen(t.Context(), "a") != nil {
		t.Error("a namespace at rest is awake")
	}

	using, done := context.WithCancel(t.Context())
	of, err := s.Service(using, "a")
	if err != nil {
		t.Fatal(err)
	}
	next(opened, "a")
	<-asked       // it may be older
	for range 3 { // "busy" is considered for each round; "a" is not, because it is in use
		if got := <-asked; got != "busy" {
			t.Errorf("%s is considered", got)
		}
	}
	if _, err := of.Entries(t.Context()); err != nil {
		t.Error(err)
	}
	done()
	next(closed, "a")

	rest.Store(int64(time.Millisecond))
	other, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: db,
		Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	doc := service.Document{File: "hello.yaml",
		Data: []byte("agents:\n  w: {instruction: Write.}\nworkflow:\n  - {type: agent, name: w}\n")}
	if _, _, err := other.Apply(t.Context(), service.ApplyRequest{Documents: []service.Document{doc}}); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	next(opened, "a")
	next(closed, "a")
	next(opened, "a") // for its work
	if s.IfOpen(t.Context(), "busy") == nil {
		t.Error("a namespace with work was closed")
	}
	next(closed, "a") // also while somebody watches
	next(opened, "a")
	watching, stop := context.WithCancel(t.Context())
	for s.IfOpen(watching, "a") == nil { // it opens and closes all the time
		runtime.Gosched()
	}
	stop()
	next(closed, "a")
}
