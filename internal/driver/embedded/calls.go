package embedded

import "iter"

// calls holds the calls in progress of one run, by id. Most runs have one at a time, which needs no
// map. The zero value is ready for use.
type calls struct {
	one  *call // if nil, all are in more
	more map[string]*call
}

// get returns the call with the given id, or nil if there is none.
func (s *calls) get(id string) *call {
	if s.one != nil && s.one.is(id) {
		return s.one
	}
	return s.more[id]
}

// put adds a call, whose id must not be in use.
func (s *calls) put(c *call) {
	switch {
	case s.one == nil && len(s.more) == 0:
		s.one = c
		return
	case s.more == nil:
		s.more = map[string]*call{}
	}
	s.more[c.id()] = c
}

// drop removes a call; a missing call is not an error.
func (s *calls) drop(id string) {
	if s.one != nil && s.one.is(id) {
		s.one = nil
		return
	}
	delete(s.more, id)
}

// is reports whether a call has an id.
func (c *call) is(id string) bool { return c.name == id || c.name == "" && c.id() == id }

// count returns the number of calls.
func (s *calls) count() int {
	if s.one != nil {
		return 1 + len(s.more)
	}
	return len(s.more)
}

// all yields the calls, in any order.
func (s *calls) all() iter.Seq[*call] {
	return func(yield func(*call) bool) {
		if s.one != nil && !yield(s.one) {
			return
		}
		for _, c := range s.more {
			if !yield(c) {
				return
			}
		}
	}
}
