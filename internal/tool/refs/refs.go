package refs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/process"
)

// filePrefix begins the name of a secret that is read from a file.
const filePrefix = "file:"

// Expander replaces references and records which values are secrets. It is not safe for concurrent
// use.
type Expander struct {
	// Lookup returns the value of a variable, or of a file under the name file:PATH; if it is nil,
	// nothing has a value.
	Lookup  func(name string) (string, bool)
	secrets []string
}

// Expand replaces `${NAME}`, `${env.NAME}`, `$NAME` and `${file:PATH}` in text; `$$` is a dollar
// sign, and a dollar sign that starts no reference is kept. A name without a value is an error,
// because an empty key would look like a rejected one. Inserted values are not expanded again. If
// secret is set, every value is a secret, whatever its name.
func (e *Expander) Expand(text string, secret bool) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if after, ok := strings.CutPrefix(rest, "$"); ok {
			b.WriteByte('$')
			text = after
			continue
		}
		name, after, ok := reference(rest)
		if !ok {
			b.WriteByte('$')
			text = rest
			continue
		}
		value, ok := "", false
		if e.Lookup != nil {
			value, ok = e.Lookup(name)
		}
		if !ok {
			return "", fmt.Errorf("variable %s is not set", name)
		}
		if secret || process.LooksSecret(name) || strings.HasPrefix(name, filePrefix) {
			e.keep(value)
		}
		b.WriteString(value)
		text = after
	}
}

// reference parses the name after a dollar sign.
func reference(s string) (name, after string, ok bool) {
	if inner, found := strings.CutPrefix(s, "{"); found {
		name, after, ok = strings.Cut(inner, "}")
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, filePrefix) {
			return name, after, ok
		}
		name = strings.TrimPrefix(name, "env.")
		return name, after, ok && isName(name)
	}
	end := strings.IndexFunc(s, func(r rune) bool { return !nameRune(r) })
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:], isName(s[:end])
}

func isName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && strings.IndexFunc(s, func(r rune) bool { return !nameRune(r) }) < 0
}

func nameRune(r rune) bool {
	return r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
}

// Redactor returns a redactor of the secrets expanded so far.
func (e *Expander) Redactor() process.Redactor { return process.NewRedactor(e.secrets) }

func (e *Expander) keep(value string) {
	if len(value) >= process.MinSecretLen && !slices.Contains(e.secrets, value) {
		e.secrets = append(e.secrets, value)
	}
}

// Named expands the value of a variable or a header. If the name suggests a secret, it records the
// value as one, even if it is written literally in the file: the whole value, and what follows a
// first word such as Bearer.
func (e *Expander) Named(name, text string, secret bool) (string, error) {
	value, err := e.Expand(text, secret || process.LooksSecret(name))
	if err != nil || !process.LooksSecret(name) {
		return value, err
	}
	e.keep(value)
	if words := strings.Fields(value); len(words) > 1 {
		for _, w := range words[1:] {
			e.keep(w)
		}
	}
	return value, nil
}
