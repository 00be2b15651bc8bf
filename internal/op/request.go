package op

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// headerKey is the header that identifies a request, so that it can be repeated.
const headerKey = "Idempotency-Key"

// Request returns the HTTP request for the operation on the server at base, with in, a pointer to
// an input. Fields that are zero are left out. An input without the key that would identify it gets
// a new one, so that a request that is sent again after a lost connection counts once.
func (o *Operation) Request(ctx context.Context, base string, in any) (*http.Request, error) {
	path, query, header := o.HTTP.Path, url.Values{}, http.Header{}
	var body io.Reader
	v := reflect.ValueOf(in).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Anonymous {
			continue
		}
		value := v.FieldByIndex(f.Index)
		switch {
		case f.Tag.Get("path") != "":
			path = strings.Replace(path, "{"+f.Tag.Get("path")+"}", url.PathEscape(textOf(value)), 1)
		case f.Tag.Get("query") != "":
			name, _, _ := strings.Cut(f.Tag.Get("query"), ",")
			if value.Kind() == reflect.Slice {
				for i := range value.Len() {
					query.Add(name, textOf(value.Index(i)))
				}
			} else if !value.IsZero() {
				query.Set(name, textOf(value))
			}
		case f.Tag.Get("header") == headerKey && value.IsZero():
			header.Set(headerKey, rand.Text())
		case f.Tag.Get("header") != "" && !value.IsZero():
			header.Set(f.Tag.Get("header"), textOf(value))
		case f.Name == "Body" && (value.Kind() != reflect.Pointer || !value.IsNil()):
			text, err := json.Marshal(value.Interface())
			if err != nil {
				return nil, fmt.Errorf("encode request: %w", err)
			}
			body = bytes.NewReader(text)
			header.Set("Content-Type", "application/json")
		}
	}
	target := base + Prefix + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, o.HTTP.Method, target, body)
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	r.Header = header
	return r, nil
}

// textOf returns a value as a part of a URL or of a header.
func textOf(v reflect.Value) string {
	if at, ok := reflect.TypeAssert[time.Time](v); ok {
		return at.Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v.Interface())
}
