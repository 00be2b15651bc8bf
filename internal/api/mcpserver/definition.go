package mcpserver

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/hocket-run/hocket/internal/catalog"
)

// etag returns a tag for the content of a text.
func etag(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// maxAttempts is the maximum number of attempts at a change while other changes keep getting ahead
// of it.
const maxAttempts = 10

// retryOnConflict runs a change that reads, modifies and stores, and repeats it if something else
// was stored in between. If the caller specified the tag of what it had read (given),
// retryOnConflict returns the conflict instead of repeating the change.
func retryOnConflict(given string, change func() (any, error)) (any, error) {
	for n := 1; ; n++ {
		out, err := change()
		if n == maxAttempts || given != "" || !errors.Is(err, catalog.ErrChanged) {
			return out, err
		}
	}
}

// sameTag returns an error if the caller has not seen the current state.
func sameTag(given, now, what string) error {
	if given == "" || given == now {
		return nil
	}
	return &conflictError{
		fmt.Sprintf("%s was changed since it was read: its etag is now %s; read it again and repeat the change", what,
			now),
	}
}

// newID derives an unused id from a name.
func newID(name, what string, taken func(string) bool) string {
	const most = 60
	id := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '-'
	}, name)
	for strings.Contains(id, "--") {
		id = strings.ReplaceAll(id, "--", "-")
	}
	id = strings.Trim(strings.ToValidUTF8(id[:min(len(id), most)], ""), "-")
	if id == "" {
		id = what + "-" + strings.ToLower(rand.Text()[:8])
	}
	for base, n := id, 2; taken(id); n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	return id
}

// indented returns JSON over several lines, so that locations in it are meaningful.
func indented(text json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// recordChange records the change in the audit log, and makes the accounts of the namespace check
// for changed lists.
func (c *call) recordChange(action, target string) {
	c.record(action, target)
	c.changed()
}
