package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// FilePrefix is the prefix of a reference to a file.
const FilePrefix = "file:"

// RefForm is a regular expression that matches references.
const RefForm = `^(\$\{\s*(env\.)?[A-Za-z_][A-Za-z0-9_]*\s*\}|\$[A-Za-z_][A-Za-z0-9_]*|file:.+|\$\{\s*file:[^}]+\})$`

// maxFileBytes is the maximum size of a secret in a file.
const maxFileBytes = 64 << 10

// ErrMissing is wrapped by errors about unset variables and missing files.
var ErrMissing = errors.New("secret is missing")

var (
	errNoRef = errors.New("not a reference: write ${env.NAME} or file:PATH")
	refText  = regexp.MustCompile(RefForm)
	fileText = regexp.MustCompile(`^\$\{\s*(file:[^}]+)\}$`)
	varText  = regexp.MustCompile(`^\$\{?\s*(?:env\.)?([A-Za-z_][A-Za-z0-9_]*)\s*\}?$`)
)

// Check returns an error if text is not a reference. The error never contains the text, which may
// be a secret.
func Check(text string) error {
	if !refText.MatchString(text) {
		return errNoRef
	}
	return nil
}

// Name returns the name by which people know a reference: the variable, or file:PATH.
func Name(ref string) string {
	if m := varText.FindStringSubmatch(ref); m != nil {
		return m[1]
	}
	if m := fileText.FindStringSubmatch(ref); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ref
}

// Resolver resolves references to their values. It is safe for concurrent use.
type Resolver struct {
	// Env looks up an environment variable; nil means that none is set.
	Env func(string) string
	// Keeper receives every resolved value; nil means that none is kept.
	Keeper *Keeper
}

// Value returns the value of a reference. It trims blanks around a variable's value and the line
// end of a file's. Errors wrap ErrMissing if there is no value; no error contains a value.
func (r Resolver) Value(ref string) (string, error) {
	if err := Check(ref); err != nil {
		return "", err
	}
	var (
		value string
		err   error
	)
	if path, ok := strings.CutPrefix(Name(ref), FilePrefix); ok {
		value, err = readFile(path)
	} else if r.Env != nil {
		value = strings.TrimSpace(r.Env(Name(ref)))
	}
	if err != nil {
		return "", err
	}
	if value == "" {
		return "", fmt.Errorf("%s is empty or not set: %w", Name(ref), ErrMissing)
	}
	if IsSecret(Name(ref), value) {
		if err := r.Keeper.Add(Name(ref), value); err != nil {
			return "", err
		}
	}
	return value, nil
}

func readFile(path string) (string, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() { // opening a pipe would wait for a writer
		return "", fmt.Errorf("read secret: %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("read secret: %s: no such file: %w", path, ErrMissing)
		}
		return "", fmt.Errorf("read secret: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	if mode := st.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return "", fmt.Errorf("read secret: %s has mode %04o, so other users can read it; run chmod 600 %s", path, mode,
			path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	if len(data) > maxFileBytes {
		return "", fmt.Errorf("read secret: %s is larger than the limit of %d bytes (max_secret_bytes)", path,
			maxFileBytes)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}
