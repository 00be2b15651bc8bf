package run

import "sync"

// maxFamily bounds the runs that workflows start as tools below one run, from when one of them is under way until none is: nesting alone bounds how deep they go, and not that
// each level calls for many of the next (SEC17).
const maxFamily = 10_000

// metaRoot is the run at the top of those that called each other's workflows as tools; absent: the run itself.
const metaRoot = "root"

// families counts the runs below each run. The zero value is ready; safe for concurrent use.
type families struct {
	mu   sync.Mutex
	most int // 0: maxFamily
	of   map[string]*family
}

type family struct{ begun, living int }

// enter counts one more run below root; false where there were as many as may be. leave tells that it has ended, or rests.
func (f *families) enter(root string) (leave func(), ok bool) {
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

func (f *families) bound() int {
	if f.most > 0 {
		return f.most
	}
	return maxFamily
}
