package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// template is an address with placeholders for arguments in its path and in the values of its
// query: https://host/a/{b}?c={d}. Both `{name}` and `${name}` are placeholders. Scheme, host, the
// slashes of the path and the names of the query are fixed.
type template struct {
	scheme, host string
	path         [][]part
	query        []pair
}

// part is literal text, already encoded, or the name of an argument.
type part struct{ text, name string }

type pair struct {
	key   string // encoded
	value []part
}

// parseTemplate parses an address.
func parseTemplate(text string) (*template, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if scheme = strings.ToLower(scheme); !ok || scheme != "http" && scheme != "https" {
		return nil, errors.New("must be an absolute http or https URL")
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	u, err := url.Parse(scheme + "://" + authority)
	switch {
	case strings.ContainsAny(authority, "{}$"):
		return nil, errors.New("the host must not contain an argument")
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("contains a user name or a password; send them in a header")
	}
	t := &template{scheme: scheme, host: u.Host}
	rest, fragment, _ := strings.Cut(rest, "#")
	if strings.ContainsAny(fragment, "{}") {
		return nil, errors.New("the fragment (after #) is not sent, so it must not contain an argument")
	}
	path, query, hasQuery := strings.Cut(rest, "?")
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		parts, err := parseParts(segment, literalPath)
		if err != nil {
			return nil, err
		}
		t.path = append(t.path, parts)
	}
	if !hasQuery {
		return t, nil
	}
	for p := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(p, "=")
		if key == "" {
			continue
		}
		if strings.ContainsAny(key, "{}") {
			return nil, errors.New("an argument cannot be the name of a query parameter")
		}
		parts, err := parseParts(value, literalQuery)
		if err != nil {
			return nil, err
		}
		t.query = append(t.query, pair{literalQuery(key), parts})
	}
	return t, nil
}

// parseParts splits text at its placeholders.
func parseParts(text string, literal func(string) string) ([]part, error) {
	var out []part
	for text != "" {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			if strings.Contains(text, "}") {
				return nil, errors.New("has a } without a matching {")
			}
			return append(out, part{text: literal(text)}), nil
		}
		before := strings.TrimSuffix(text[:open], "$")
		name, after, ok := strings.Cut(text[open+1:], "}")
		if !ok || !isArgName(name) {
			return nil, fmt.Errorf("has a placeholder with an invalid name: {%s", name)
		}
		if strings.Contains(before, "}") {
			return nil, errors.New("has a } without a matching {")
		}
		if before != "" {
			out = append(out, part{text: literal(before)})
		}
		out = append(out, part{name: name})
		text = after
	}
	return out, nil
}

func isArgName(s string) bool {
	return s != "" && len(s) <= 100 && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' &&
			r != '.' && r != '[' && r != ']'
	}) < 0
}

// literalPath and literalQuery encode a document's own text in the form that is sent; already
// encoded parts are left unchanged.
func literalPath(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		return encode(decoded, "!$&'()*+,;=:@.")
	}
	return encode(s, "!$&'()*+,;=:@.")
}

func literalQuery(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return encode(decoded, "!$'()*,:@/?.")
	}
	return encode(s, "!$'()*,:@/?.")
}

// encode percent-encodes everything except letters, digits, `-`, `_`, `~` and the bytes of also.
func encode(s, also string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '~' ||
			strings.IndexByte(also, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// names returns the set of arguments that have placeholders.
func (t *template) names() map[string]bool {
	out := map[string]bool{}
	for _, segment := range t.path {
		for _, p := range segment {
			out[p.name] = true
		}
	}
	for _, q := range t.query {
		for _, p := range q.value {
			out[p.name] = true
		}
	}
	delete(out, "")
	return out
}

// fill puts arguments into their placeholders. A missing argument is an error in the path; a query
// parameter whose arguments are all missing is omitted.
func (t *template) fill(args map[string]any) (*url.URL, error) {
	var raw strings.Builder
	for _, segment := range t.path {
		raw.WriteByte('/')
		text, err := fillSegment(segment, args)
		if err != nil {
			return nil, err
		}
		raw.WriteString(text)
	}
	path, err := url.PathUnescape(raw.String())
	if err != nil {
		return nil, fmt.Errorf("build URL: %w", err)
	}
	u := &url.URL{Scheme: t.scheme, Host: t.host, Path: path, RawPath: raw.String()}
	var query []string
	for _, q := range t.query {
		if text, ok := fillValue(q.value, args); ok {
			query = append(query, q.key+"="+text)
		}
	}
	u.RawQuery = strings.Join(query, "&")
	return u, nil
}

func fillSegment(segment []part, args map[string]any) (string, error) {
	var b strings.Builder
	hasArg := false
	for _, p := range segment {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		hasArg = true
		v, ok := args[p.name]
		if !ok || v == nil {
			return "", fmt.Errorf("%s is missing: the path of the URL needs it", p.name)
		}
		text := scalar(v)
		for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '\\' }) {
			// Some servers decode encoded slashes, and a part between them could then be a parent
			// directory.
			if piece == "." || piece == ".." {
				return "", fmt.Errorf("%s must not hold the path segment %q", p.name, piece)
			}
		}
		b.WriteString(encode(text, "."))
	}
	switch text := b.String(); {
	case hasArg && text == "":
		return "", errors.New("an argument of the path is empty, which would change the URL")
	case hasArg && (text == "." || text == ".."):
		return "", fmt.Errorf("the arguments make the path segment %q, which would change the URL", text)
	default:
		return text, nil
	}
}

func fillValue(parts []part, args map[string]any) (string, bool) {
	var b strings.Builder
	places, missing := 0, 0
	for _, p := range parts {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		places++
		v, ok := args[p.name]
		if !ok || v == nil {
			missing++
			continue
		}
		b.WriteString(encode(scalar(v), "."))
	}
	return b.String(), places == 0 || missing < places
}

// scalar formats a value as text: lists with commas, objects as JSON.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = scalar(item)
		}
		return strings.Join(items, ",")
	case nil:
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
