package model

import (
	"errors"
	"fmt"
	"strings"
)

// Ref names a model of a provider. Provider is empty if it cannot be derived from a bare name.
type Ref struct{ Provider, Model string }

// String returns `provider/model`, or the bare name.
func (r Ref) String() string {
	if r.Provider == "" {
		return r.Model
	}
	return r.Provider + "/" + r.Model
}

// ErrBadRef is returned for a reference that is not of the form `provider/model` or `model`.
var ErrBadRef = errors.New("not a model reference")

// ParseRef splits s at the first slash (D26); the rest may contain more slashes. A bare name gets
// the provider implied by its prefix (`gpt-`, `chatgpt-`, `o1`.., `claude-`, `gemini-`), otherwise
// none: the Registry then decides.
func ParseRef(s string) (Ref, error) {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, " \t\r\n") {
		return Ref{}, fmt.Errorf("%w: %q has a space in it", ErrBadRef, s)
	}
	provider, name, found := strings.Cut(s, "/")
	switch {
	case s == "":
		return Ref{}, fmt.Errorf("%w: it is empty", ErrBadRef)
	case !found:
		return Ref{Provider: providerOf(s), Model: s}, nil
	case provider == "" || name == "":
		return Ref{}, fmt.Errorf("%w: %q is not provider/model", ErrBadRef, s)
	}
	return Ref{Provider: provider, Model: name}, nil
}

// providerOf returns the provider implied by the prefix of a bare model name, or "".
func providerOf(name string) string {
	switch n := strings.ToLower(name); {
	case strings.HasPrefix(n, "gpt-"), strings.HasPrefix(n, "chatgpt-"), len(n) > 1 && n[0] == 'o' && n[1] >= '1' &&
		n[1] <= '9':
		return "openai"
	case strings.HasPrefix(n, "claude-"):
		return "anthropic"
	case strings.HasPrefix(n, "gemini-"):
		return "google"
	}
	return ""
}
