package transport

import (
	"net/http"
	"strconv"
	"strings"
)

// TakesGzip reports whether the client of a request accepts a response compressed with gzip: its
// request lists this coding, or all codings, with a weight above 0.
func TakesGzip(r *http.Request) bool {
	named, all := -1.0, -1.0
	for _, line := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(line, ",") {
			coding, params, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				named = weight(params)
			case "*":
				all = weight(params)
			}
		}
	}
	if named < 0 {
		named = all
	}
	return named > 0
}

// weight returns the value of the parameter q: 1 if it is absent, 0 if it is malformed.
func weight(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(p), "="); ok && strings.EqualFold(strings.TrimSpace(name),
			"q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || !(q >= 0 && q <= 1) {
				return 0
			}
			return q
		}
	}
	return 1
}
