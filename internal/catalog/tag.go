package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// TagAbsent is the tag of a workflow or an agent that does not exist.
const TagAbsent = "absent"

// Tag identifies the current state of a stored workflow: its published version, its draft and its
// rows (nil means none). If two tags are equal, nothing was stored, published, deleted or changed
// by other programs in between. With it, a writer that reads, changes and stores detects that
// another writer was faster (P39).
func Tag(e Entry, rows *Rows) string { return digest(e.ID, e.Published, e.Draft, rows) }

// AgentTag is like Tag for an agent: it identifies the state of its columns.
func AgentTag(r Row) string { return digest(r.Normal()) }

// LayoutTag is like Tag for a layout; LayoutTag(nil) is the tag of a workflow without one.
func LayoutTag(text []byte) string { return digest("layout", string(text)) }

func digest(parts ...any) string {
	text, err := json.Marshal(parts)
	// columns hold strings, numbers, bytes and nil, but other programs may write values that JSON
	// cannot express
	if err != nil {
		text = fmt.Appendf(nil, "%#v", parts)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Expected returns ErrChanged if tag is not the expected one; an empty expect matches any tag. All
// stores use it.
func Expected(expect, tag string) error {
	if expect == "" || expect == tag {
		return nil
	}
	return ErrChanged
}
