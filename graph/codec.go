package graph

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/program"
)

// codec turns states into fields and back. What it gives is what [decode], [encode] and [changes] give; it only takes the shorter way: each field by
// itself, and what a node left as it was is compared without being made anew. Types and values that it does not know take the plain way. Safe for
// concurrent use.
type codec[S any] struct {
	fields  []member
	index   map[string]int // of fields, by name in JSON
	plain   bool           // the type takes the plain way always
	scratch sync.Pool      // *[]byte
	used    sync.Pool      // *received
}

// maxShared bounds the values that stand in one block of memory with others, so that a small one does not keep a large one alive.
const maxShared = 1 << 10

func newCodec[S any]() (c *codec[S]) {
	c = &codec[S]{
		scratch: sync.Pool{New: func() any { return new([]byte) }},
		used:    sync.Pool{New: func() any { return new(received) }},
		index:   map[string]int{}}
	defer func() {
		if recover() != nil { // a type that cannot even encode its zero value tells so when a node runs
			c.fields, c.plain = nil, true
		}
	}()
	var ok bool
	if c.fields, ok = members(reflect.TypeFor[S](), nil); !ok {
		c.fields, c.plain = nil, true
		return c
	}
	for i := range c.fields {
		c.index[c.fields[i].name] = i
	}
	return c
}

// received holds a state as it stood in JSON when it was decoded.
type received struct {
	values [][]byte       // by field; nil where the field is left out
	fields program.Fields // instead of values where not nil
	reader reader
}

// decode makes a state of its fields.
func (c *codec[S]) decode(fields program.Fields) (S, error) {
	var s S
	if !c.read(fields, &s, nil, new(reader)) {
		return decode[S](fields)
	}
	return s, nil
}

// load decodes fields into s, which is zero, and keeps how they would be encoded again. What it gives can be given to drop when it is needed no more.
func (c *codec[S]) load(fields program.Fields, s *S) (*received, error) {
	before := c.used.Get().(*received)
	before.values = slices.Grow(before.values, len(c.fields))[:len(c.fields)]
	if c.read(fields, s, before.values, &before.reader) {
		return before, nil
	}
	var err error
	if *s, err = decode[S](fields); err != nil {
		return nil, err
	}
	before.fields, err = encode(*s)
	return before, err
}

// drop lets what load gave be used again.
func (c *codec[S]) drop(before *received) {
	clear(before.values)
	*before = received{values: before.values[:0]}
	c.used.Put(before)
}

// read decodes fields into s and puts into canon how each is encoded, unless canon is nil. False: the plain way must be taken; s is then void.
func (c *codec[S]) read(fields program.Fields, s *S, canon [][]byte, r *reader) bool {
	if c.plain {
		return false
	}
	v := reflect.ValueOf(s).Elem()
	found := 0
	for i := range c.fields {
		f := &c.fields[i]
		raw, ok := fields[f.name]
		if !ok {
			if canon != nil {
				canon[i] = f.zero
			}
			continue
		}
		found++
		value, ok := f.read(r, raw, f.in(v), canon != nil)
		if !ok {
			return false
		}
		if canon != nil {
			canon[i] = value
		}
	}
	if found < len(fields) {
		for name := range fields {
			if _, known := c.index[name]; !known && c.folds(name) {
				return false
			}
		}
	}
	return true
}

// folds tells whether JSON takes a name for that of a field, though its letters differ in case.
func (c *codec[S]) folds(name string) bool {
	return slices.ContainsFunc(c.fields, func(f member) bool { return strings.EqualFold(f.name, name) })
}

// changes gives the fields in which after differs from what was loaded (D27).
func (c *codec[S]) changes(before *received, after *S) (program.Fields, error) {
	if before.fields == nil {
		if out, ok := c.differences(before.values, reflect.ValueOf(after).Elem()); ok {
			return out, nil
		}
	}
	fields, err := encode(*after) // which tells what is wrong
	if err != nil {
		return nil, err
	}
	return changes(c.whole(before), fields), nil
}

// whole gives what was received as encode would have given it.
func (c *codec[S]) whole(s *received) program.Fields {
	if s.fields != nil {
		return s.fields
	}
	out := program.Fields{}
	for i, v := range s.values {
		if v != nil {
			out[c.fields[i].name] = v
		}
	}
	return out
}

func (c *codec[S]) differences(before [][]byte, after reflect.Value) (program.Fields, bool) {
	pooled := c.scratch.Get().(*[]byte)
	b := (*pooled)[:0]
	defer func() {
		if cap(b) <= 64*maxShared {
			*pooled = b
			c.scratch.Put(pooled)
		}
	}()
	type difference struct{ field, from, to int }
	var space [8]difference
	list := space[:0]
	for i := range c.fields {
		f := &c.fields[i]
		from, v := len(b), f.in(after)
		if f.leaves(v) {
			if before[i] != nil {
				list = append(list, difference{i, from, -1})
			}
			continue
		}
		var ok bool
		if b, ok = f.write(b, v); !ok {
			return nil, false
		}
		if bytes.Equal(before[i], b[from:]) {
			b = b[:from]
			continue
		}
		list = append(list, difference{i, from, len(b)})
	}
	if len(list) == 0 {
		return nil, true
	}
	shared := 0
	for _, d := range list {
		if n := d.to - d.from; n <= maxShared {
			shared += max(n, 0)
		}
	}
	block := make([]byte, 0, shared)
	out := make(program.Fields, len(list))
	for _, d := range list {
		switch n := d.to - d.from; {
		case d.to < 0:
			out[c.fields[d.field].name] = json.RawMessage("null")
		case n > maxShared:
			out[c.fields[d.field].name] = bytes.Clone(b[d.from:d.to])
		default:
			at := len(block)
			block = append(block, b[d.from:d.to]...)
			out[c.fields[d.field].name] = json.RawMessage(block[at:len(block):len(block)])
		}
	}
	return out, true
}

// changed lets fn work on a state made of fields and gives what it changed.
func (c *codec[S]) changed(fields program.Fields, fn func(*S) error) (program.Fields, error) {
	s := new(S)
	before, err := c.load(fields, s)
	if err != nil {
		return nil, err
	}
	defer c.drop(before)
	if err := fn(s); err != nil {
		return nil, err
	}
	return c.changes(before, s)
}
