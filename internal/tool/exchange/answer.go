package exchange

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Media returns the answer's media type in lower case without parameters; if the server sends none,
// it is guessed from the body.
func (a *Answer) Media() string {
	header := a.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(header); err == nil {
		return media
	}
	if header != "" {
		first, _, _ := strings.Cut(header, ";")
		return strings.ToLower(strings.TrimSpace(first))
	}
	media, _, _ := mime.ParseMediaType(http.DetectContentType(a.Body))
	return media
}

// OK reports whether the status is a success.
func (a *Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// StatusText formats the status, as in 404 Not Found.
func (a *Answer) StatusText() string {
	return strings.TrimSpace(strconv.Itoa(a.Status) + " " + http.StatusText(a.Status))
}

// Size describes how many bytes the body has, as far as that is known.
func (a *Answer) Size() string {
	switch {
	case a.Cut && a.Length > 0:
		return strconv.FormatInt(a.Length, 10) + " bytes"
	case a.Cut:
		return "more than " + strconv.Itoa(len(a.Body)) + " bytes"
	}
	return strconv.Itoa(len(a.Body)) + " bytes"
}

// IsJSON reports whether bodies of a media type are JSON.
func IsJSON(media string) bool {
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// IsText reports whether bodies of a media type are readable as they are.
func IsText(media string) bool {
	switch media {
	case "application/xml", "application/xhtml+xml", "application/javascript", "application/ecmascript",
		"application/yaml", "application/x-yaml",
		"application/toml", "application/x-ndjson", "application/jsonl", "application/graphql", "application/sql",
		"application/x-sh", "application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(media, "text/") || IsJSON(media) || strings.HasSuffix(media, "+xml") ||
		strings.HasSuffix(media, "+yaml")
}

// Cut shortens text to at most limit bytes at a character boundary, and reports whether it did.
func Cut(text string, limit int) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit], true
}
