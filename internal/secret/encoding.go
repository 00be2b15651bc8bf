package secret

// encoding is an encoding in digits of bytes at any place: text of other kinds may precede it
// without a boundary, so its digits are decoded as if it began at each of them.
type encoding struct {
	digits [256]int8 // the value of a digit; -1 means that it is none
	bits   int       // the bits of a digit
	phases int       // the digits after which a byte ends where a digit does

	gaps   [256]bool // bytes that may stand between two digits
	maxGap int       // the maximum number of these
	lines  bool      // only if they include a line end
}

// encodings are base64, in the standard and the URL-safe alphabet, across line ends and the
// indentation after them; and hexadecimal digits of either case, with one or two characters between
// them, as in dumps.
var encodings = [...]*encoding{
	newEncoding(encoding{bits: 6, phases: 4, maxGap: 32, lines: true}, "\n\r \t",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", map[byte]byte{'-': '+', '_': '/'}),
	newEncoding(encoding{bits: 4, phases: 2, maxGap: 2}, " :-_,+\n\r", "0123456789abcdef",
		map[byte]byte{'A': 'a', 'B': 'b', 'C': 'c', 'D': 'd', 'E': 'e', 'F': 'f'}),
}

func newEncoding(e encoding, gaps, digits string, same map[byte]byte) *encoding {
	for i := range e.digits {
		e.digits[i] = -1
	}
	for i := range len(digits) {
		e.digits[digits[i]] = int8(i)
	}
	for c, digit := range same {
		e.digits[c] = e.digits[digit]
	}
	for i := range len(gaps) {
		e.gaps[gaps[i]] = true
	}
	return &e
}

// run is a sequence of digits at the end of a text.
type run struct {
	min   int    // the digits of the shortest text that may hold a value
	count int    // its digits
	start int    // where the first one starts
	last  char   // the last one
	head  []char // the first digits, until there are min

	gap  int  // the number of bytes after the last digit
	line bool // one of them is a line end

	phases [4]*layer // what the run encodes, by the digit at which a byte starts
}

// push adds a byte of the text of a layer.
func (r *run) push(l *layer, e *encoding, c char) {
	if e.digits[c.c] < 0 {
		switch {
		case r.count == 0:
		case e.gaps[c.c] && r.gap < e.maxGap:
			r.gap++
			r.line = r.line || c.c == '\n' || c.c == '\r'
		default:
			r.end(e)
		}
		return
	}
	if r.gap > 0 && e.lines && !r.line {
		r.end(e)
	}
	r.gap, r.line = 0, false
	if r.count == 0 {
		r.start = c.start
	}
	if r.count >= r.min {
		r.digit(e, c)
		return
	}
	r.head = append(r.head[:r.count], c)
	if r.count++; r.count < r.min {
		return
	}
	r.count = 0
	for i := range e.phases {
		if r.phases[i] == nil {
			r.phases[i] = l.s.layer(l.levels - 1)
		}
		r.phases[i].reset()
	}
	for _, c := range r.head {
		r.digit(e, c)
	}
}

// digit decodes a digit: in all phases but one, a byte ends in it that started in the previous one.
func (r *run) digit(e *encoding, c char) {
	if r.count > 0 {
		two := int(e.digits[r.last.c])<<e.bits | int(e.digits[c.c])
		for i := range e.phases {
			if after := (r.count - i) & (e.phases - 1); after > 0 {
				// 8 bits, of which e.bits*after belong to this and earlier digits of the phase
				shift := e.bits - (8-e.bits)*after
				r.phases[i].take(char{byte(two >> shift), r.last.start, c.end})
			}
		}
	}
	r.last = c
	r.count++
}

// end ends the run.
func (r *run) end(e *encoding) {
	if r.count >= r.min {
		for i := range e.phases {
			r.phases[i].finish()
		}
	}
	r.reset()
}

func (r *run) reset() { r.count, r.gap, r.line = 0, 0, false }

// become sets the state of a run of l to that of another.
func (r *run) become(l *layer, e *encoding, o *run) {
	r.count, r.start, r.last, r.gap, r.line = o.count, o.start, o.last, o.gap, o.line
	if r.count < r.min {
		r.head = append(r.head[:0], o.head[:o.count]...)
		return
	}
	for i := range e.phases {
		if r.phases[i] == nil {
			r.phases[i] = l.s.layer(l.levels - 1)
		}
		r.phases[i].become(o.phases[i])
	}
}

// hold is layer.hold for what the run encodes.
func (r *run) hold(e *encoding, at int) int {
	switch {
	case r.count == 0:
	case r.count < r.min:
		at = min(at, r.start)
	default:
		at = min(at, r.last.start)
		for i := range e.phases {
			at = r.phases[i].hold(at)
		}
	}
	return at
}
