package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/api/transport"
)

// unsupportedError is returned when a body has a type that cannot be turned into an input.
type unsupportedError struct{ contentType string }

func (e *unsupportedError) Error() string {
	return fmt.Sprintf("unsupported content type %q: send application/json, text/plain or "+
		"application/x-www-form-urlencoded", e.contentType)
}

// malformedError is returned when a body does not match its content type.
type malformedError struct{ reason string }

func (e *malformedError) Error() string { return e.reason }

// maxFields is the maximum number of fields of a form.
const maxFields = 1000

// inputOf returns the input of a run for a request body: text and JSON byte for byte, except for a
// byte order mark before JSON, and the fields of a form as a JSON object. It is only ever data: no
// content type turns it into a definition (SEC2).
//
// It returns an *unsupportedError or a *malformedError.
func inputOf(h http.Header, body []byte) (string, error) {
	text := h.Get("Content-Type")
	if text == "" && len(body) == 0 {
		return "", nil
	}
	kind, params, err := mime.ParseMediaType(text)
	if err != nil || len(h.Values("Content-Type")) > 1 {
		return "", &unsupportedError{text}
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") &&
		!strings.EqualFold(charset, "us-ascii") {
		return "", &unsupportedError{text}
	}
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", &unsupportedError{text + ", encoded as " + e}
	}
	isJSON := kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	if isJSON {
		body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	}
	isForm := kind == "application/x-www-form-urlencoded"
	switch {
	case !isJSON && !isForm && kind != "text/plain":
		return "", &unsupportedError{text}
	case !utf8.Valid(body):
		return "", &malformedError{"the body is not valid UTF-8"}
	case isJSON && !json.Valid(body):
		return "", &malformedError{"the body is not valid JSON"}
	case isForm:
		return formInput(string(body))
	}
	return string(body), nil
}

// formInput returns the fields of a form as a JSON object, ordered by name: a string for a field
// that occurs once, otherwise a list.
func formInput(body string) (string, error) {
	if strings.Count(body, "&") >= maxFields {
		return "", &malformedError{fmt.Sprintf("the form has more fields than the limit of %d (max_fields)", maxFields)}
	}
	fields, err := url.ParseQuery(body)
	if err != nil {
		return "", &malformedError{"the body is not a form"}
	}
	out := make(map[string]any, len(fields))
	for name, values := range fields {
		for _, v := range append([]string{name}, values...) {
			if !utf8.ValidString(v) {
				return "", &malformedError{"a field of the form is not valid UTF-8"}
			}
		}
		if len(values) == 1 {
			out[name] = values[0]
		} else {
			out[name] = values
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return "", &malformedError{err.Error()}
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// readForm reads a form as sent by the page, within its limits.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" || r.URL.RawQuery != "" {
		return nil, errLink
	}
	body, err := transport.ReadBody(w, r, maxForm)
	if err != nil {
		return nil, err
	}
	return url.ParseQuery(string(body))
}
