package namespace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/namespace"
	"github.com/hocket-run/hocket/internal/service"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

func open(t *testing.T, cfg namespace.Config) *namespace.Set {
	t.Helper()
	if cfg.Service.DB == "" {
		cfg.Service.DB = filepath.Join(t.TempDir(), "hocket.db")
	}
	cfg.Service.Kind, cfg.Service.Env = journal.KindServe, func(string) string { return "" }
	s, err := namespace.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// create creates a namespace with its first token.
func create(t *testing.T, s *namespace.Set, name string) {
	t.Helper()
	if _, _, err := access.NewTokens(access.Config{Store: s.Store()}).Create(t.Context(),
		access.Grant{Name: "x", Namespace: name, Role: access.RoleRun}); err != nil {
		t.Fatal(err)
	}
}

// TestUnknown checks that no request creates a namespace, or a file (SEC10, SEC16).
func TestUnknown(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // on macOS a parent is a symbolic link
	if err != nil {
		t.Fatal(err)
	}
	s := open(t,
		namespace.Config{Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(dir, "hocket.db")}})
	create(t, s, "known")
	for name, want := range map[string]error{"unknown": access.ErrNoNamespace, "../hocket": &access.InvalidError{},
		"": &access.InvalidError{}} {
		var invalid *access.InvalidError
		if _, err := s.Service(t.Context(), name); !errors.Is(err, want) &&
			(!errors.As(want, &invalid) || !errors.As(err, &invalid)) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "hocket.namespaces")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
	of, err := s.Service(t.Context(), "known")
	if err != nil || of.DB() != filepath.Join(dir, "hocket.namespaces", "known.db") {
		t.Errorf("%v", err)
	}
	st, err := os.Stat(filepath.Join(dir, "hocket.namespaces", "known.db"))
	if err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	for name, want := range map[string]int{"default": 0, "known": 1} {
		if list, err := s.Store().List(t.Context(), name); err != nil || len(list) != want {
			t.Errorf("%s: %d tokens, %v", name, len(list), err)
		}
	}
}

// TestSet_Isolation checks that data stored in one namespace is not visible in another (SEC10), on
// disk and in memory.
func TestSet_Isolation(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]string{"file": filepath.Join(t.TempDir(), "hocket.db"), "memory": service.Memory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, namespace.Config{Service: service.Config{Documents: linked.Kit(), DB: db}})
			create(t, s, "a")
			create(t, s, "b")
			if names, err := s.Names(t.Context()); err != nil || !slices.Equal(names, []string{"a", "b", "default"}) {
				t.Fatalf("%v, %v", names, err)
			}
			services := map[string]*service.Service{}
			for _, name := range []string{"a", "b", "default"} {
				of, err := s.Service(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				services[name] = of
			}
			doc := service.Document{File: "hello.yaml",
				Data: []byte("agents:\n  w: {instruction: Write.}\nworkflow:\n  - {type: agent, name: w}\n")}
			if _, problems, err := services["a"].Apply(t.Context(),
				service.ApplyRequest{Documents: []service.Document{doc}}); err != nil || problems.HasErrors() {
				t.Fatal(err, problems)
			}
			for name, want := range map[string]int{"a": 1, "b": 0, "default": 0} {
				if entries, err := services[name].Entries(t.Context()); err != nil || len(entries) != want {
					t.Errorf("%s: %d workflows, %v", name, len(entries), err)
				}
			}
		})
	}
}

// TestSet_ConcurrentOpen checks that many simultaneous first requests to a namespace get one
// service, even while the Set is being closed, and that nothing is left open (goleak).
func TestSet_ConcurrentOpen(t *testing.T) {
	t.Parallel()
	for range 20 {
		s := open(t, namespace.Config{Maintain: func(ctx context.Context, _ string,
			of *service.Service) {
			of.Maintain(ctx)
		}})
		create(t, s, "a")
		var (
			wg    sync.WaitGroup
			mu    sync.Mutex
			found = map[*service.Service]bool{}
		)
		for i := range 20 {
			wg.Go(func() {
				if i == 15 {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
					return
				}
				of, err := s.Service(t.Context(), "a")
				switch {
				case err == nil:
					mu.Lock()
					found[of] = true
					mu.Unlock()
				case !errors.Is(err, namespace.ErrClosed) && !errors.Is(err, journal.ErrClosed) &&
					!errors.Is(err, context.Canceled):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(found) > 1 {
			t.Errorf("%d services of one namespace", len(found))
		}
		if _, err := s.Service(t.Context(), "a"); !errors.Is(err, namespace.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// TestSet_CallerCancelled checks that other callers still get the service if the caller that asked
// first has left.
func TestSet_CallerCancelled(t *testing.T) {
	t.Parallel()
	s := open(t, namespace.Config{})
	create(t, s, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Service(ctx, "a"); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := s.Service(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

// TestTend checks that all namespaces are tended from the start, a later one from its first
// request, and that Close waits for the tending to end (D15).
func TestTend(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "hocket.db")
	create(t, open(t, namespace.Config{Service: service.Config{Documents: linked.Kit(), DB: db}}), "old")

	began := make(chan string, 10)
	var ended sync.Map
	s := open(t, namespace.Config{Service: service.Config{Documents: linked.Kit(), DB: db},
		Maintain: func(ctx context.Context, name string, of *service.Service) {
			began <- name
			of.Maintain(ctx)
			<-ctx.Done()
			ended.Store(name, true)
		}})
	got := []string{<-began, <-began}
	create(t, s, "new")
	if _, err := s.Service(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	got = append(got, <-began)
	slices.Sort(got)
	if !slices.Equal(got, []string{"default", "new", "old"}) {
		t.Errorf("tended: %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range got {
		if _, ok := ended.Load(name); !ok {
			t.Errorf("%s is still tended", name)
		}
	}
}

// TestPrepare checks that each service is prepared before any caller has it, and before it is
// tended (P23).
func TestPrepare(t *testing.T) {
	t.Parallel()
	var prepared sync.Map
	s := open(t, namespace.Config{
		Prepare: func(_ context.Context, name string, _ *service.Service) { prepared.Store(name, true) },
		Maintain: func(_ context.Context, name string, _ *service.Service) {
			if _, ok := prepared.Load(name); !ok {
				t.Errorf("%s is tended and not prepared", name)
			}
		},
	})
	create(t, s, "a")
	for _, name := range []string{"default", "a"} {
		if _, err := s.Service(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if _, ok := prepared.Load(name); !ok {
			t.Errorf("%s is not prepared", name)
		}
	}
}

// TestSet_DamagedNamespace checks that opening a namespace with an invalid file returns an error
// that names it, and succeeds once the file is repaired; the other namespaces open meanwhile.
func TestSet_DamagedNamespace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t,
		namespace.Config{Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(dir, "hocket.db")}})
	create(t, s, "a")
	create(t, s, "b")
	path := filepath.Join(dir, "hocket.namespaces", "a.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Service(t.Context(), "a"); !errors.Is(err, journal.ErrNotStore) ||
		!strings.Contains(err.Error(), "namespace a") {
		t.Errorf("%v", err)
	}
	if _, err := s.Service(t.Context(), "b"); err != nil {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Service(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

// TestCloseTwice checks that both calls wait and return the same error.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	s := open(t, namespace.Config{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Error("Close does not end")
	}
}
