package secret

import (
	"net/url"
	"regexp"
	"strings"
)

// secretNames matches names that suggest a secret.
var secretNames = regexp.MustCompile(
	`(?i)(key|token|secret|pass|pwd|credential|auth|cookie|session|signature|private|pat\b|_pat|dsn|jwt|bearer|` +
		`webhook|^file:)`)

// plainText matches values that are too simple to be secrets: words, numbers, versions, booleans.
var plainText = regexp.MustCompile(`^([a-z]+([-_.][a-z]+)*|[A-Z]+|[0-9.]{1,8}|v?[0-9]+(\.[0-9]+)+)$`)

// LooksWritten reports whether a value that a definition sets under a name looks like a literal
// secret: the name suggests one, no part of the value is a reference, and the value is not a plain
// word.
func LooksWritten(name, value string) bool {
	return secretNames.MatchString(name) && len(value) >= MinLen && !strings.Contains(value, "$") &&
		!plainText.MatchString(value)
}

// IsSecret reports whether a value that was looked up under a name must not be shown. It errs on
// the side of true: only paths, words, small numbers and URLs without a user or a query are plain,
// under a name that does not suggest otherwise. If these were treated as secrets, replies that
// mention a host or a folder would lose it.
func IsSecret(name, value string) bool {
	if secretNames.MatchString(name) {
		return true
	}
	if plainText.MatchString(value) || strings.HasPrefix(value, "/") && !strings.ContainsAny(value, "=+") {
		return false
	}
	u, err := url.Parse(value)
	return err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != ""
}
