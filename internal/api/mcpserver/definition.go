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

// etag names a text by its content.
func etag(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// tries bounds how often a change is made anew because another change was faster.
const tries = 10

// again makes a change that reads, changes and stores, and makes it anew where something else was stored in between, unless the caller said by a tag what it had
// read: then it is told.
func again(given string, change func() (any, error)) (any, error) {
	for n := 1; ; n++ {
		out, err := change()
		if n == tries || given != "" || !errors.Is(err, catalog.ErrChanged) {
			return out, err
		}
	}
}

// sameTag refuses a change of what the caller has not seen.
func sameTag(given, now, what string) error {
	if given == "" || given == now {
		return nil
	}
	return &conflictError{fmt.Sprintf("%s was changed since it was read: its etag is now %s; read it again and repeat the change", what, now)}
}

// newID makes an id of a name that nothing has yet.
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

// indented gives JSON over several lines, so that places in it mean something.
func indented(text json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// did tells the audit log what the call changed, and the watchers of lists that they may have changed.
func (c *call) did(action, target string) {
	c.record(action, target)
	c.changed()
}
