package secret

// maxLevels is the maximum number of encodings, one inside another, that are decoded.
const maxLevels = 4

// char is a byte of a decoded text, and the range of the original text that it was decoded from.
type char struct {
	c          byte
	start, end int
}

// scanner searches a text for values, as it is and decoded up to maxLevels times. It reads each
// byte once and holds no copy of the text, so pieces and the whole have the same result. Time is
// linear in the length of the text, and memory does not depend on it, except for the finds.
type scanner struct {
	in    *automaton
	finds []find
	root  *layer
	read  int // the number of bytes read so far
}

func newScanner(in *automaton) *scanner {
	s := &scanner{in: in}
	s.root = s.layer(maxLevels)
	return s
}

func (s *scanner) layer(levels int) *layer {
	l := &layer{s: s, levels: levels}
	for i, e := range encodings {
		l.runs[i].min = (8*s.in.least + e.bits - 1) / e.bits
	}
	return l
}

func (s *scanner) write(text string) {
	for i := range len(text) {
		if !s.root.idle || s.in.class[text[i]] != 0 {
			s.root.push(char{text[i], s.read, s.read + 1})
		}
		s.read++
	}
}

// layer is a text after a number of decodings, of which only the state at its end is known.
//
// Three kinds of layers are decoded from it: its text without escapes, and what its runs of base64
// and hexadecimal digits encode. The first exists from an escape until both texts are in the same
// state again, the others as long as a run.
type layer struct {
	s      *scanner
	levels int   // the number of decodings that may follow
	at     int32 // the state of the automaton
	starts []int // where the latest bytes start: as many as the state is deep, or more

	escape    []byte // bytes that may be the beginning of an escape
	escaped   []char // the same bytes
	unescaped *layer
	differs   bool // unescaped is in use
	decoded   int  // the end of the latest decoded escape since differs was set; -1 if there is none

	runs [len(encodings)]run // base64, hexadecimal digits
	idle bool                // a byte without a class changes nothing

	// ahead holds, in what a run encodes, the bytes since the last one that no value can hold,
	// until there are as many as a value has; open means that there are. In most texts there never are.
	ahead []char
	open  bool
}

// take adds a byte of what a run encodes. A byte that no value holds in any spelling ends the
// text.
func (l *layer) take(c char) {
	in := l.s.in
	switch {
	case !in.held[c.c]:
		if l.open {
			l.push(c) // it may end an escape
			l.finish()
			l.reset()
		}
		l.ahead = l.ahead[:0]
	case l.open:
		if !l.idle || in.class[c.c] != 0 {
			l.push(c)
		}
	default:
		if l.ahead = append(l.ahead, c); len(l.ahead) < in.least {
			return
		}
		for _, c := range l.ahead {
			l.push(c)
		}
		l.ahead, l.open = l.ahead[:0], true
	}
}

// push adds a byte to the text.
func (l *layer) push(c char) {
	class := l.s.in.class[c.c]
	if l.levels == 0 {
		if l.at != 0 || class&begins != 0 {
			l.match(c)
		}
		l.idle = l.at == 0
		return
	}
	if l.differs || class&escapes != 0 {
		l.unescape(c)
	}
	if l.at != 0 || class&begins != 0 {
		l.match(c)
	}
	if r := &l.runs[0]; r.count > 0 || class&base64Digit != 0 {
		r.push(l, encodings[0], c)
	}
	if r := &l.runs[1]; r.count > 0 || class&hexDigit != 0 {
		r.push(l, encodings[1], c)
	}
	if l.differs && l.converged() {
		l.differs = false
	}
	l.idle = l.at == 0 && !l.differs && l.runs[0].count == 0 && l.runs[1].count == 0
}

// match feeds a byte to the automaton.
func (l *layer) match(c char) {
	in := l.s.in
	if l.at == 0 {
		l.at = in.root[c.c]
	} else {
		l.at = in.step(l.at, c.c)
	}
	if l.at == 0 {
		l.starts = l.starts[:0]
		return
	}
	n := &in.nodes[l.at]
	l.starts = append(l.starts, c.start)
	if depth := int(n.depth); len(l.starts) >= 2*depth+64 {
		l.starts = append(l.starts[:0], l.starts[len(l.starts)-depth:]...)
	}
	if n.found > 0 {
		l.s.finds = append(l.s.finds, find{l.starts[len(l.starts)-int(n.found)], c.end, n.mark})
	}
}

// unescape feeds a byte to the text without escapes, which begins to differ where an escape may
// begin.
func (l *layer) unescape(c char) {
	if len(l.escape) == 0 && l.s.in.class[c.c]&escapes == 0 {
		l.unescaped.push(c)
		return
	}
	if !l.differs {
		if l.unescaped == nil {
			l.unescaped = l.s.layer(l.levels - 1)
		}
		l.unescaped.become(l)
		l.differs, l.decoded = true, -1
	}
	l.escape, l.escaped = append(l.escape, c.c), append(l.escaped, c)
	l.resolve(false)
}

// resolve decodes escapes that are complete; at the end of the text all of them.
func (l *layer) resolve(end bool) {
	var room [maxEscape]byte
	from := 0
	for from < len(l.escape) {
		src := l.escape[from:]
		if end {
			src = append(src, 0xff) // no escape continues with this byte
		}
		out, n := unescape(room[:0], src)
		if n == 0 {
			break
		}
		first, last := l.escaped[from], l.escaped[from+n-1]
		for _, b := range out {
			l.unescaped.push(char{b, first.start, last.end})
		}
		if n > 1 {
			l.decoded = last.end
		}
		from += n
	}
	l.escape, l.escaped = append(l.escape[:0], l.escape[from:]...), append(l.escaped[:0], l.escaped[from:]...)
}

// maxDepth is the maximum depth of a state that a text without escapes may share: become copies
// what belongs to the state.
const maxDepth = 64

// converged reports whether the text without escapes is in the same state as the text, so that the
// bytes that follow mean the same in both.
func (l *layer) converged() bool {
	u := l.unescaped
	if len(l.escape) > 0 || u.differs || u.at != l.at {
		return false
	}
	depth := int(l.s.in.nodes[u.at].depth)
	if depth > maxDepth || depth > 0 && u.starts[len(u.starts)-depth] < l.decoded {
		return false
	}
	if u.levels > 0 {
		for i := range u.runs {
			if r := &u.runs[i]; r.count != l.runs[i].count || r.count > 0 && (r.start != l.runs[i].start ||
				r.start < l.decoded) {
				return false
			}
		}
	}
	return true
}

// become sets the state of a layer to that of another, which may have more levels.
func (l *layer) become(o *layer) {
	depth := int(l.s.in.nodes[o.at].depth)
	l.at, l.starts = o.at, append(l.starts[:0], o.starts[len(o.starts)-depth:]...)
	l.idle = false
	l.ahead, l.open = append(l.ahead[:0], o.ahead...), o.open
	if l.levels == 0 {
		return
	}
	l.escape, l.escaped = append(l.escape[:0], o.escape...), append(l.escaped[:0], o.escaped...)
	if l.differs = o.differs; l.differs {
		if l.unescaped == nil {
			l.unescaped = l.s.layer(l.levels - 1)
		}
		l.unescaped.become(o.unescaped)
		l.decoded = o.decoded
	}
	for i := range l.runs {
		l.runs[i].become(l, encodings[i], &o.runs[i])
	}
}

// finish ends the text: an escape without an end is complete or none.
func (l *layer) finish() {
	if l.levels == 0 {
		return
	}
	if l.differs {
		l.resolve(true)
		l.unescaped.finish()
	}
	for i := range l.runs {
		l.runs[i].end(encodings[i])
	}
}

// reset starts a new text.
func (l *layer) reset() {
	l.at, l.starts = 0, l.starts[:0]
	l.ahead, l.open = l.ahead[:0], false
	l.escape, l.escaped, l.differs, l.idle = l.escape[:0], l.escaped[:0], false, true
	for i := range l.runs {
		l.runs[i].reset()
	}
}

// hold returns the start, in the original text, of what may belong to a find that is still
// incomplete; at most the given position, the end of the text.
func (l *layer) hold(at int) int {
	if n := int(l.s.in.nodes[l.at].partial); n > 0 {
		at = min(at, l.starts[len(l.starts)-n])
	}
	if len(l.ahead) > 0 {
		at = min(at, l.ahead[0].start)
	}
	if l.levels == 0 {
		return at
	}
	if len(l.escape) > 0 {
		at = min(at, l.escaped[0].start)
	}
	if l.differs {
		at = l.unescaped.hold(at)
	}
	for i := range l.runs {
		at = l.runs[i].hold(encodings[i], at)
	}
	return at
}
