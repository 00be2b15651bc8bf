package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inherited are the variables that every server gets of our environment: what programs need to find themselves, and nothing that could be a key.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	// Windows
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE",
	"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

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
		if secret || looksSecret(name) {
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

// looksSecret tells variables that hold keys from those that hold paths and flags: only the former are blotted out in what a server says.
func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "PRIVATE"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

// minSecretLen keeps values such as `1` and `true` from being blotted out everywhere.
const minSecretLen = 6

func (e *expander) keep(value string) {
	if len(value) >= minSecretLen && !slices.Contains(e.secrets, value) {
		e.secrets = append(e.secrets, value)
	}
}

// named expands the value of a variable or a header and remembers it, if its name says that it is a secret, even where it is written into the file:
// the whole, and what follows a first word such as Bearer.
func (e *expander) named(name, text string, secret bool) (string, error) {
	value, err := e.expand(text, secret || looksSecret(name))
	if err != nil || !looksSecret(name) {
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
	out := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(inherited, strings.ToUpper(name)) {
			out[name] = value
		}
	}
	for name, text := range named {
		value, err := e.named(name, text, false)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", name, err)
		}
		out[name] = value
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(out)) {
		list = append(list, name+"="+out[name])
	}
	return list, nil
}

// redactor blots secrets out of whatever a server or a library says (SEC11). The zero redactor changes nothing.
type redactor struct{ replacer *strings.Replacer }

const blot = "[redacted]"

// redactor is made once all expanding is done.
func (e *expander) redactor() redactor {
	if len(e.secrets) == 0 {
		return redactor{}
	}
	// The longest first: a secret may begin with another one.
	secrets := slices.SortedFunc(slices.Values(e.secrets), func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, blot)
		if quoted, err := json.Marshal(s); err == nil && string(quoted[1:len(quoted)-1]) != s {
			pairs = append(pairs, string(quoted[1:len(quoted)-1]), blot)
		}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

func (r redactor) text(s string) string {
	if r.replacer == nil {
		return s
	}
	return r.replacer.Replace(s)
}

func (r redactor) json(b json.RawMessage) json.RawMessage {
	if r.replacer == nil || b == nil {
		return b
	}
	return json.RawMessage(r.replacer.Replace(string(b)))
}

// error gives err without its secrets. What it wraps is given up where there was one: the text of the cause would still hold it.
func (r redactor) error(err error) error {
	if err == nil || r.text(err.Error()) == err.Error() {
		return err
	}
	return fmt.Errorf("%s", r.text(err.Error()))
}
