package catalog

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxID is the maximum length of the ids of workflows and agents, in bytes.
const MaxID = 200

// IDError reports that an id is not valid for storing, and why.
type IDError struct{ ID, Reason string }

func (e *IDError) Error() string {
	return fmt.Sprintf("invalid id %q: %s", truncateID(e.ID), e.Reason)
}

// truncateID truncates an id for a message.
func truncateID(id string) string {
	if len(id) <= MaxID {
		return id
	}
	return strings.ToValidUTF8(id[:20], "") + "…"
}

// CheckID returns an *IDError unless a workflow or an agent may be stored under the id. All code
// that stores either uses this one rule: people type ids, and ids are part of URLs of the HTTP API,
// so that every transport must be able to show and delete what is stored. An id has 1 to MaxID
// bytes of printable UTF-8, with no slashes, no leading or trailing whitespace and no inner
// whitespace other than spaces. It must not start with a dash, as flags on the command line do, or
// with a dot, as . and .. do.
func CheckID(id string) error {
	var why string
	switch {
	case id == "":
		why = "it is empty"
	case len(id) > MaxID:
		why = fmt.Sprintf("it has %d bytes; the limit is %d (max_id)", len(id), MaxID)
	case !utf8.ValidString(id):
		why = "it is not valid UTF-8"
	case strings.TrimSpace(id) != id:
		why = "it has leading or trailing spaces"
	case strings.ContainsAny(id, `/\`):
		why = "it has slashes"
	case strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }):
		why = "it has unprintable characters"
	case strings.HasPrefix(id, "-"), strings.HasPrefix(id, "."):
		why = "it begins with a dash or a dot"
	default:
		return nil
	}
	return &IDError{id, why}
}
