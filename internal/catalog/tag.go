package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// TagAbsent is the tag of what is not there.
const TagAbsent = "absent"

// Tag names what a stored workflow is now, its published version, its draft and its rows (nil: it has none): where two tags are equal, nothing was stored,
// published, deleted or changed by other programs in between. A writer that reads, changes and stores finds out by it that another one was faster (P39).
func Tag(e Entry, rows *Rows) string { return digest(e.ID, e.Published, e.Draft, rows) }

// AgentTag is Tag for an agent: the tag of its columns.
func AgentTag(r Row) string { return digest(r.Normal()) }

// LayoutTag is Tag for a layout; that of nil is the tag of a workflow without one.
func LayoutTag(text []byte) string { return digest("layout", string(text)) }

func digest(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil { // columns hold texts, numbers, bytes and nil; but other programs may write what JSON has no word for
		text = fmt.Appendf(nil, "%#v", parts)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Expected gives ErrChanged where what is there is not what was expected; "" expects nothing. All stores decide by it.
func Expected(expect, tag string) error {
	if expect == "" || expect == tag {
		return nil
	}
	return ErrChanged
}
