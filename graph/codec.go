package graph

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/program"
)

// codec turns states into fields and back. What it gives is what [decode], [encode] and [changes] give; it only takes the shorter way: each field by
// itself, and of fields that a node left as they were only the Go values are compared. Types and values that it does not know take the plain way. Safe for
// concurrent use.
type codec[S any] struct {
	fields  []member
	index   map[string]int // of fields, by name in JSON
	plain   bool           // the type takes the plain way always
	scratch sync.Pool      // *[]byte
}

// maxShared bounds the values that share one block of memory with others, so that a small one does not keep a large one alive.
const maxShared = 1 << 10

// spareElements is how many more elements a list that functions extended before has room for, so that the next function need not move it.
const spareElements = 4

func newCodec[S any]() (c *codec[S]) {
	c = &codec[S]{scratch: sync.Pool{New: func() any { return new([]byte) }}, index: map[string]int{}}
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

// seen is a state that a function got.
type seen[S any] struct {
	state program.State
	base  *native[S] // nil: the state took the plain way
	// left are how fields without a form are encoded, by field, nil where one is left out; nil where all fields have forms.
	left [][]byte
	// fields are how the state is encoded where it took the plain way.
	fields program.Fields
}

// decode makes a state of its fields.
func (c *codec[S]) decode(state program.State) (S, error) {
	var s S
	if n := c.base(state); n != nil && c.give(n, state, &s, nil) {
		return s, nil
	}
	return decode[S](state.Map())
}

// read makes a state of its fields in s, which is zero, and says in b what [codec.changes] needs.
func (c *codec[S]) read(state program.State, s *S, b *seen[S]) (err error) {
	b.state = state
	if b.base = c.base(state); b.base != nil && c.give(b.base, state, s, b) {
		return nil
	}
	b.base = nil
	if *s, err = decode[S](state.Map()); err != nil {
		return err
	}
	b.fields, err = encode(*s)
	return err
}

// give copies a state into s, which is zero; n stays what it is whatever becomes of s. Fields without a form are decoded; how they are encoded goes
// into b, unless it is nil. False: the plain way must be taken; s is then void.
func (c *codec[S]) give(n *native[S], state program.State, s *S, b *seen[S]) bool {
	*s = n.value
	from, to := reflect.ValueOf(&n.value).Elem(), reflect.ValueOf(s).Elem()
	for i := range c.fields {
		switch f := &c.fields[i]; {
		case f.form == nil:
			left, ok := f.load(state, f.in(to), b != nil)
			if !ok {
				return false
			}
			if b == nil {
				continue
			}
			if b.left == nil {
				b.left = make([][]byte, len(c.fields))
			}
			b.left[i] = left
		case !f.flat:
			spare := 0
			if n.room(i) != nil {
				spare = spareElements
			}
			f.form.share(f.in(to), f.in(from), spare)
		}
	}
	return true
}

// load decodes a field without a form into v, which is zero. Where keep is set, it gives how v is encoded, nil where it is left out.
func (f *member) load(state program.State, v reflect.Value, keep bool) (left []byte, ok bool) {
	raw := state.Get(f.name)
	if raw == nil {
		return f.zero, true
	}
	return f.read(new(reader), raw, v, keep)
}

// folds tells whether JSON takes a name for that of a field, though its letters differ in case.
func (c *codec[S]) folds(name string) bool {
	return slices.ContainsFunc(c.fields, func(f member) bool { return strings.EqualFold(f.name, name) })
}

// changes gives the fields in which after differs from what was opened (D27), and after as the next function gets it.
func (c *codec[S]) changes(b *seen[S], after *S) (program.Result, error) {
	if b.base != nil {
		if out, ok := c.compare(b, after); ok {
			return out, nil
		}
	}
	fields, err := encode(*after) // which tells what is wrong
	if err != nil {
		return program.Result{}, err
	}
	if b.base != nil {
		return program.Result{}, errors.New("encode state: a field has no JSON, the whole state has")
	}
	return program.Result{Update: changes(b.fields, fields)}, nil
}

// changed lets fn work on a state made of fields and gives what it changed.
func (c *codec[S]) changed(state program.State, fn func(*S) error) (program.Fields, error) {
	s, b := new(S), seen[S]{}
	if err := c.read(state, s, &b); err != nil {
		return nil, err
	}
	if err := fn(s); err != nil {
		return nil, err
	}
	out, err := c.changes(&b, s)
	return out.Whole(state), err
}

// difference is a field that was changed. Its JSON is from one place of a buffer to another; to is -1 where it is left out.
type difference struct {
	field, from, to int
	// grew: the JSON is what the field gained.
	grew bool
}

// compare is changes for states that have a native form. False: a value has no JSON.
func (c *codec[S]) compare(b *seen[S], after *S) (out program.Result, ok bool) {
	pooled := c.scratch.Get().(*[]byte)
	buf := (*pooled)[:0]
	defer func() {
		if cap(buf) <= 64*maxShared {
			*pooled = buf
			c.scratch.Put(pooled)
		}
	}()
	was, is := reflect.ValueOf(&b.base.value).Elem(), reflect.ValueOf(after).Elem()
	var space [8]difference
	list := space[:0]
	for i := range c.fields {
		f := &c.fields[i]
		v, d := f.in(is), difference{field: i, from: len(buf), to: -1}
		if f.form == nil {
			if !f.leaves(v) {
				if buf, ok = f.write(buf, v); !ok {
					return out, false
				}
				d.to = len(buf)
			}
			if bytes.Equal(b.left[i], buf[d.from:]) {
				buf = buf[:d.from]
				continue
			}
			list = append(list, d)
			continue
		}
		before := f.in(was)
		if f.equal(before, v) {
			continue
		}
		if !f.leaves(v) {
			if b.base.isExact(i) && b.state.CanGrow(f.name) {
				buf, d.grew = f.form.tail(buf, before, v)
			}
			if !d.grew {
				if buf, ok = f.form.append(buf, v); !ok {
					return out, false
				}
			}
			d.to = len(buf)
		}
		list = append(list, d)
	}
	c.fill(&out, list, buf)
	if next := c.next(b.base, list, is); next != nil {
		out.Native = next
	}
	return out, true
}

// fill puts what was changed into a result. Small values share memory.
func (c *codec[S]) fill(out *program.Result, list []difference, buf []byte) {
	shared, whole := 0, 0
	for _, d := range list {
		if d.grew {
			continue
		}
		whole++
		if n := d.to - d.from; n <= maxShared {
			shared += max(n, 0)
		}
	}
	if whole > 0 {
		out.Update = make(program.Fields, whole)
	}
	block := make([]byte, 0, shared)
	for _, d := range list {
		name := c.fields[d.field].name
		switch n := d.to - d.from; {
		case d.to < 0:
			out.Update[name] = program.Value("null")
		case d.grew:
			out.Grown = append(out.Grown, program.Tail{Field: name, Text: string(buf[d.from:d.to])})
		case n > maxShared:
			out.Update[name] = bytes.Clone(buf[d.from:d.to])
		default:
			at := len(block)
			block = append(block, buf[d.from:d.to]...)
			out.Update[name] = program.Value(block[at:len(block):len(block)])
		}
	}
}
