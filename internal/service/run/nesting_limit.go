package run

import "sync"

// maxDescendants is the maximum number of runs that workflows start as tools below one root run,
// counted from when one of them is active until none is: the limit on nesting bounds their depth,
// but not how many runs each level starts (SEC17).
const maxDescendants = 10_000

// metaRoot is the root of the runs that called each other's workflows as tools; if absent, the run
// itself.
const metaRoot = "root"

// descendantCounts counts the descendants of each root run. The zero value is ready for use. It is
// safe for concurrent use.
type descendantCounts struct {
	mu   sync.Mutex
	most int // 0 means maxDescendants
	of   map[string]*family
}

type family struct{ begun, living int }

// enter counts one more descendant of root, or returns false if the maximum is reached. leave must
// be called when the run has ended, or rests.
func (f *descendantCounts) enter(root string) (leave func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.of[root]
	if one == nil {
		one = &family{}
		if f.of == nil {
			f.of = map[string]*family{}
		}
		f.of[root] = one
	}
	if one.begun >= f.bound() {
		return nil, false
	}
	one.begun++
	one.living++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if one.living--; one.living == 0 {
			delete(f.of, root)
		}
	}, true
}

func (f *descendantCounts) bound() int {
	if f.most > 0 {
		return f.most
	}
	return maxDescendants
}
