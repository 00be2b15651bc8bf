package process

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inherited are the variables of our environment that every process gets: what programs need to
// locate their files, and nothing that could be a key.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	// Windows
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA",
	"PROGRAMFILES", "SYSTEMDRIVE",
	"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// Inherited returns those variables in environ, each of the form `NAME=value`, that every process
// gets.
func Inherited(environ []string) map[string]string {
	out := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(inherited, strings.ToUpper(name)) {
			out[name] = value
		}
	}
	return out
}

// Environ returns variables in the form that Start accepts, sorted by name.
func Environ(vars map[string]string) []string {
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}

// LooksSecret reports whether a variable holds a key rather than a path or a flag: only the values
// of such variables are redacted in a process's output.
func LooksSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "PRIVATE"},
		func(part string) bool {
			return strings.Contains(name, part)
		})
}

// MinSecretLen prevents values such as `1` and `true` from being redacted everywhere.
const MinSecretLen = 6

// Redactor removes secrets from the output of a process or a library (SEC11). The zero Redactor
// changes nothing.
type Redactor struct{ replacer *strings.Replacer }

const blot = "[redacted]"

// NewRedactor returns a Redactor for secrets, none of which may be empty.
func NewRedactor(secrets []string) Redactor {
	if len(secrets) == 0 {
		return Redactor{}
	}
	// The longest first: one secret may be a prefix of another.
	secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, blot)
		if quoted, err := json.Marshal(s); err == nil && string(quoted[1:len(quoted)-1]) != s {
			pairs = append(pairs, string(quoted[1:len(quoted)-1]), blot)
		}
	}
	return Redactor{strings.NewReplacer(pairs...)}
}

// Text returns s without secrets.
func (r Redactor) Text(s string) string {
	if r.replacer == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// JSON returns b without secrets.
func (r Redactor) JSON(b json.RawMessage) json.RawMessage {
	if r.replacer == nil || b == nil {
		return b
	}
	return json.RawMessage(r.replacer.Replace(string(b)))
}

// Error returns err without its secrets. If it contained a secret, the wrapped error is dropped,
// since its message would still hold it.
func (r Redactor) Error(err error) error {
	if err == nil || r.Text(err.Error()) == err.Error() {
		return err
	}
	return fmt.Errorf("%s", r.Text(err.Error()))
}
