package show

import "unicode"

// helvetica holds the widths of the printable ASCII characters in thousandths of the font size
// (Adobe's metrics of Helvetica, which Arial and Liberation Sans share).
var helvetica = [95]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
}

// textWidth estimates the width of a line; bold text and substitutes for Helvetica are a little
// wider.
func textWidth(s string, size float64, bold bool) float64 {
	sum := 0
	for _, r := range s {
		switch {
		case r >= ' ' && r <= '~':
			sum += helvetica[r-' ']
		case unicode.In(r, unicode.Mn, unicode.Me):
		case isWide(r):
			sum += 1000
		default:
			sum += 600
		}
	}
	w := float64(sum) / 1000 * size * 1.04
	if bold {
		w *= 1.06
	}
	return w
}

// isWide reports whether a character fills a square: Chinese, Japanese and Korean characters, and
// pictographs.
func isWide(r rune) bool {
	return r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 &&
		r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 &&
		r <= 0x3fffd
}
