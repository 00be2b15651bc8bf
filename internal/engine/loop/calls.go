package loop

import "iter"

// calls is a set of calls by key. Most runs have one call at a time, which needs no map. The zero
// value is ready for use.
type calls struct {
	key  string // of one
	one  *Call  // nil if all are in more
	more map[string]*Call
}

// get returns a call, or nil if there is none.
func (s *calls) get(key string) *Call {
	if s.one != nil && s.key == key {
		return s.one
	}
	if len(s.more) == 0 {
		return nil
	}
	return s.more[key]
}

// put sets the call of a key.
func (s *calls) put(key string, c *Call) {
	switch {
	case s.one != nil && s.key == key, s.one == nil && len(s.more) == 0: // if one is in more it stays there
		s.key, s.one = key, c
		return
	case s.more == nil:
		s.more = map[string]*Call{}
	}
	s.more[key] = c
}

// drop removes a call; it is not an error if there is none.
func (s *calls) drop(key string) {
	if s.one != nil && s.key == key {
		s.key, s.one = "", nil
		return
	}
	delete(s.more, key)
}

// all returns the calls, in any order. Calls may be removed during iteration.
func (s *calls) all() iter.Seq2[string, *Call] {
	return func(yield func(string, *Call) bool) {
		if s.one != nil && !yield(s.key, s.one) {
			return
		}
		for key, c := range s.more {
			if !yield(key, c) {
				return
			}
		}
	}
}
