package secret

import (
	"net/url"
	"regexp"
	"strings"
)

// secretNames matches names that say what they hold.
var secretNames = regexp.MustCompile(`(?i)(key|token|secret|pass|pwd|credential|auth|cookie|session|signature|private|pat\b|_pat|dsn|jwt|bearer|webhook|^file:)`)

// plainText matches values that say too little to be secrets: words, numbers, versions, booleans.
var plainText = regexp.MustCompile(`^([a-z]+([-_.][a-z]+)*|[A-Z]+|[0-9.]{1,8}|v?[0-9]+(\.[0-9]+)+)$`)

// LooksWritten tells whether a value that a definition gives under a name seems to be a literal secret: the name says so, no part of
// it is a reference, and it is no plain word.
func LooksWritten(name, value string) bool {
	return secretNames.MatchString(name) && len(value) >= MinLen && !strings.Contains(value, "$") && !plainText.MatchString(value)
}

// IsSecret tells whether a value that was looked up under a name is one that must not be shown. It errs on the side of saying so: what is plain are
// paths, words, small numbers and addresses without a user or a query, under a name that does not say otherwise. If they were taken for secrets,
// answers that speak of a host or a folder would lose it.
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
