package secret

// alphabet defines how encoded text is read: different spellings of a character count as equal, and
// separators between characters are skipped. A nil alphabet reads bytes as they are.
type alphabet struct {
	norm [256]byte
	is   [256]bool // a character of the encoding
	gap  func(text []byte, i int) (from, to int)
}

// maxGap is the maximum number of bytes skipped between two characters.
const maxGap = 32

// base64Alphabet reads the standard and the URL-safe alphabet as one, across line ends and the
// indentation after them.
var base64Alphabet = newAlphabet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_",
	map[byte]byte{'-': '+', '_': '/'}, func(c byte) bool {
		return c == '\n' || c == '\r' || c == ' ' || c == '\t'
	}, true)

// hexAlphabet reads digits of either case, with one or two characters between them, as in dumps.
var hexAlphabet = newAlphabet("0123456789abcdefABCDEF", map[byte]byte{'A': 'a', 'B': 'b', 'C': 'c', 'D': 'd', 'E': 'e',
	'F': 'f'}, func(c byte) bool {
	return c == ' ' || c == ':' || c == '-' || c == '_' || c == ',' || c == '\n' || c == '\r'
}, false)

// newAlphabet returns an alphabet. If lines is set, skipped bytes must include a line end.
func newAlphabet(of string, same map[byte]byte, between func(byte) bool, lines bool) *alphabet {
	a := &alphabet{}
	for i := range a.norm {
		a.norm[i] = byte(i)
	}
	for i := range len(of) {
		a.is[of[i]] = true
	}
	for from, to := range same {
		a.norm[from] = to
	}
	a.gap = func(text []byte, i int) (from, to int) {
		from, to = i, i
		for from > 0 && i-from < maxGap && between(text[from-1]) {
			from--
		}
		for to < len(text) && to-i < maxGap && between(text[to]) {
			to++
		}
		if !between(text[i]) || from == 0 || !a.is[text[from-1]] || to-from > maxGap || to < len(text) &&
			!a.is[text[to]] {
			return i, i
		}
		if lines {
			for _, c := range text[from:to] {
				if c == '\n' || c == '\r' {
					return from, to
				}
			}
			return i, i
		}
		if to-from > 2 {
			return i, i
		}
		return from, to
	}
	return a
}

// skips reports whether the byte at i is a separator between two characters.
func (a *alphabet) skips(text []byte, i int) bool {
	c := text[i]
	if c > ' ' && (a != hexAlphabet || a.is[c] || c != ':' && c != '-' && c != '_' && c != ',') {
		return false
	}
	from, to := a.gap(text, i)
	return from < to
}

// back returns the position at which the last n characters before end begin.
func (a *alphabet) back(text []byte, end, n int) int {
	if a == nil {
		return end - n
	}
	for i := end; i > 0; {
		if n == 0 {
			return i
		}
		i--
		if !a.skips(text, i) {
			n--
		}
		if n == 0 {
			return i
		}
	}
	return 0
}
