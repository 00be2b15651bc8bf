package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
)

// Size limits of tool results in bytes of JSON. A longer result is truncated and names the resource
// with the complete content.
const (
	maxResult   = 64 << 10
	maxEvent    = 16 << 10
	maxDocument = 128 << 10
	maxResource = 8 << 20
)

// bounded returns v as JSON of at most limit bytes: it first truncates long strings, each with a
// note of its length, then keeps only the last entries of lists, and finally omits values. A field
// `truncated` names the resource with the complete content.
func bounded(v any, limit int, uri string) (json.RawMessage, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	if len(text) <= limit {
		return text, nil
	}
	for _, most := range []struct{ text, items int }{{8 << 10, 1000}, {2 << 10, 1000}, {500, 500}, {200, 100},
		{200, 30}, {100, 5}, {40, 1}} {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var tree any
		if err := dec.Decode(&tree); err != nil {
			return nil, fmt.Errorf("bound result: %w", err)
		}
		tree = shorten(tree, most.text, most.items)
		if m, ok := tree.(map[string]any); ok {
			m["truncated"] = "long values are truncated and long lists lack their first items: the full result has " +
				bytesText(len(text)) + "; read the resource " + uri
		}
		if short := encode(tree); len(short) <= limit {
			return short, nil
		}
	}
	return nil, service.Refuse(errcode.ResultTooLarge,
		errcode.Fields{"size": bytesText(len(text)), "max": bytesText(limit), "uri": uri}, nil)
}

// shorten truncates strings to most bytes, and lists to their last items.
func shorten(v any, most, items int) any {
	switch x := v.(type) {
	case string:
		if len(x) <= most {
			return x
		}
		return truncate(x, most) + fmt.Sprintf(" [%s in total]", bytesText(len(x)))
	case []any:
		x = x[max(0, len(x)-items):]
		for i := range x {
			x[i] = shorten(x[i], most, items)
		}
		return x
	case map[string]any:
		if _, isReference := x["$value"]; isReference && len(x) == 1 {
			return x
		}
		for k := range x {
			x[k] = shorten(x[k], most, items)
		}
		return x
	}
	return v
}

// truncate truncates a string to most bytes.
func truncate(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func bytesText(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// escaped escapes every character that is invisible or changes how the text around it is displayed:
// control characters, line breaks, invisible characters, and characters that change the text
// direction. A person who approves sees the actual content (SEC12).
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
