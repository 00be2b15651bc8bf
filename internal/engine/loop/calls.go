package loop

import "iter"

// calls are calls by key. Most runs have one at a time, which needs no map. The zero value is ready for use.
type calls struct {
	key  string // of one
	one  *Call  // nil: all are in more
	more map[string]*Call
}

// get gives a call, nil where there is none.
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
	case s.one != nil && s.key == key, s.one == nil && len(s.more) == 0: // one in more stays there
		s.key, s.one = key, c
		return
	case s.more == nil:
		s.more = map[string]*Call{}
	}
	s.more[key] = c
}

// drop takes a call out; one that is not there is no error.
func (s *calls) drop(key string) {
	if s.one != nil && s.key == key {
		s.key, s.one = "", nil
		return
	}
	delete(s.more, key)
}

// all gives the calls, in any order. Calls may be taken out meanwhile.
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
