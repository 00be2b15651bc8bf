package process

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inherited are the variables that every process gets of our environment: what programs need to find themselves, and nothing that could be a key.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	// Windows
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE",
	"SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// Inherited gives the variables of environ, `NAME=value` each, that every process gets.
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

// Environ gives variables as Start takes them, by name.
func Environ(vars map[string]string) []string {
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}

// LooksSecret tells variables that hold keys from those that hold paths and flags: only the former are blotted out in what a process says.
func LooksSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "PRIVATE"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

// MinSecretLen keeps values such as `1` and `true` from being blotted out everywhere.
const MinSecretLen = 6

// Redactor blots secrets out of whatever a process or a library says (SEC11). The zero Redactor changes nothing.
type Redactor struct{ replacer *strings.Replacer }

const blot = "[redacted]"

// NewRedactor makes one of secrets, none of them empty.
func NewRedactor(secrets []string) Redactor {
	if len(secrets) == 0 {
		return Redactor{}
	}
	// The longest first: a secret may begin with another one.
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

// Text gives s without secrets.
func (r Redactor) Text(s string) string {
	if r.replacer == nil {
		return s
	}
	return r.replacer.Replace(s)
}

// JSON gives b without secrets.
func (r Redactor) JSON(b json.RawMessage) json.RawMessage {
	if r.replacer == nil || b == nil {
		return b
	}
	return json.RawMessage(r.replacer.Replace(string(b)))
}

// Error gives err without its secrets. What it wraps is given up where there was one: the text of the cause would still hold it.
func (r Redactor) Error(err error) error {
	if err == nil || r.Text(err.Error()) == err.Error() {
		return err
	}
	return fmt.Errorf("%s", r.Text(err.Error()))
}
