package model

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// scrubbed replaces a secret.
const scrubbed = "[secret]"

// keyShapes matches anything that looks like a key of a known provider or a credential in a header
// or an address, including masked ones. It is compiled on first use, since most processes never
// have a failed call.
var keyShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?i)\b(?:sk|xai|gsk|pk|rk)-[a-z0-9_*.\-]{8,}|\bAIza[a-z0-9_*\-]{20,}|\bgsk_[a-z0-9]{12,}|\bhf_[a-z0-9]{12,}` +
			`|(?:bearer|basic)\s+[a-z0-9._~+/*=\-]{8,` +
			`}|([?&](?:key|api[_-]?key|access_token|token)=)[^&\s"']+|(://[^/\s:@]*:)[^/\s@]+@`)
})

// Scrub removes keys from a string that is to be stored or shown: the given secrets verbatim and in
// URL-encoded form, and anything in the form of a provider's key. Secrets of fewer than four bytes
// are left alone because they would match parts of words.
func Scrub(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) < 4 {
			continue
		}
		text = strings.ReplaceAll(text, s, scrubbed)
		if q := url.QueryEscape(s); q != s {
			text = strings.ReplaceAll(text, q, scrubbed)
		}
	}
	return keyShapes().ReplaceAllStringFunc(text, func(found string) string {
		m := keyShapes().FindStringSubmatch(found)
		switch {
		case m[1] != "":
			return m[1] + scrubbed
		case m[2] != "":
			return m[2] + scrubbed + "@"
		}
		return scrubbed
	})
}
