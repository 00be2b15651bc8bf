package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/process"
)

// expander replaces references and remembers which values are secrets.
type expander struct {
	lookup  func(string) (string, bool)
	secrets []string
}

// expand replaces `${NAME}`, `${env.NAME}` and `$NAME` in text; `$$` is a dollar sign, and one that begins nothing stays. A name without a value
// is an error: an empty key would look like one that was refused. What is inserted is not expanded again.
func (e *expander) expand(text string, secret bool) (string, error) {
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
		value, ok := e.lookup(name)
		if !ok {
			return "", fmt.Errorf("variable %s is not set", name)
		}
		if secret || process.LooksSecret(name) {
			e.keep(value)
		}
		b.WriteString(value)
		text = after
	}
}

// reference reads the name after a dollar sign.
func reference(s string) (name, after string, ok bool) {
	if inner, found := strings.CutPrefix(s, "{"); found {
		name, after, ok = strings.Cut(inner, "}")
		name = strings.TrimPrefix(strings.TrimSpace(name), "env.")
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

func (e *expander) keep(value string) {
	if len(value) >= process.MinSecretLen && !slices.Contains(e.secrets, value) {
		e.secrets = append(e.secrets, value)
	}
}

// named expands the value of a variable or a header and remembers it, if its name says that it is a secret, even where it is written into the file:
// the whole, and what follows a first word such as Bearer.
func (e *expander) named(name, text string, secret bool) (string, error) {
	value, err := e.expand(text, secret || process.LooksSecret(name))
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

// environment gives what a server gets: the inherited variables and what the spec names, which wins.
func (e *expander) environment(environ []string, named map[string]string) ([]string, error) {
	out := process.Inherited(environ)
	for name, text := range named {
		value, err := e.named(name, text, false)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", name, err)
		}
		out[name] = value
	}
	return process.Environ(out), nil
}
