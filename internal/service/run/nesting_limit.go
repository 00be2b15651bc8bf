package run

import (
	"context"
	"errors"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/hocket-run/hocket/internal/journal"
)

// maxDescendants is the maximum number of runs that workflows start as tools below one root run,
// counted from when one of them is active until none is: the limit on nesting bounds their depth,
// but not how many runs each level starts (SEC17). It is smaller where maxDescendants runs would
// need more than a quarter of the memory of this process; all such runs that are active in a process
// may need half of it.
const (
	maxDescendants = 10_000
	runBytes       = 128 << 10 // of an active run; 125 KiB were measured
)

// metaRoot is the root of the runs that called each other's workflows as tools; if absent, the run
// itself.
const metaRoot = "root"

// descendantCounts counts the descendants of each root run. The stored runs are the count: it holds
// after the end of a process, while the runs wait for people, and across processes, each of which
// reads it again after recountEvery runs. The zero value is ready for use. It is safe for
// concurrent use.
type descendantCounts struct {
	mu     sync.Mutex
	most   int // for one root; 0 means the limit of this process
	living int // of all roots
	of     map[string]*family
}

// recountEvery is how many runs a process starts below a root before it counts those of other
// processes again.
const recountEvery = 1000

// family is the count of one root. living is guarded by descendantCounts.mu.
type family struct {
	living int

	mu    sync.Mutex
	begun int
	// started is the number of runs that this process has started since it last counted.
	started int
	counted bool
}

// enter counts a call that runs a descendant of root. isNew means that the call starts the run;
// then ok is false if the maximum is reached. stored returns the number of descendants in the
// store. If ok, leave must be called when the run has ended, or rests. ok is also false if twice the
// maximum is active below all roots.
func (f *descendantCounts) enter(root string, isNew bool, stored func(most int) (int, error)) (leave func(), ok bool,
	err error) {
	f.mu.Lock()
	one := f.of[root]
	if one == nil {
		one = &family{}
		if f.of == nil {
			f.of = map[string]*family{}
		}
		f.of[root] = one
	}
	one.living++
	f.living++
	full := isNew && f.living > 2*f.bound()
	f.mu.Unlock()
	done := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.living--
		if one.living--; one.living == 0 {
			delete(f.of, root)
		}
	}
	defer func() {
		if !ok {
			done()
		}
	}()
	if full {
		return nil, false, nil
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.counted || one.started >= recountEvery {
		n, err := stored(f.bound())
		if err != nil {
			return nil, false, err
		}
		one.begun, one.counted, one.started = max(one.begun, n), true, 0
	}
	if !isNew {
		return done, true, nil
	}
	if one.begun >= f.bound() {
		return nil, false, nil
	}
	one.begun++
	one.started++
	return done, true, nil
}

func (f *descendantCounts) bound() int {
	if f.most > 0 {
		return f.most
	}
	return int(min(maxDescendants, debug.SetMemoryLimit(-1)/4/runBytes)) // it reads the limit of the process
}

// isStored reports whether there is a run.
func (s *Runner) isStored(ctx context.Context, run string) (bool, error) {
	_, err := s.store.Head(ctx, run)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// descendants returns the number of stored runs that workflows started as tools below root, at most
// most, or 0 if none of those that root started itself is active.
func (s *Runner) descendants(ctx context.Context, root string, most int) (int, error) {
	active, _, err := s.store.List(ctx, journal.Query{Parent: root, Limit: 1,
		Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning, journal.StatusPaused}})
	if err != nil || len(active) == 0 {
		return 0, err
	}
	n := 0
	for todo := []string{root}; len(todo) > 0 && n < most; todo = todo[1:] {
		for q := (journal.Query{Parent: todo[0], Limit: 1000}); ; {
			heads, next, err := s.store.List(ctx, q)
			if err != nil {
				return n, err
			}
			for _, h := range heads {
				if h.Meta[metaRoot] == root {
					n++
				}
				if h.Meta[metaNesting] != strconv.Itoa(maxNesting) { // those call no workflows
					todo = append(todo, h.Run)
				}
			}
			if q.Cursor = next; next == "" || n >= most {
				break
			}
		}
	}
	return min(n, most), nil
}
