package catalog

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxID bounds the ids of workflows and agents, in bytes.
const MaxID = 200

// IDError says why nothing is stored under an id.
type IDError struct{ ID, Reason string }

func (e *IDError) Error() string {
	return fmt.Sprintf("invalid id %q: %s", cut(e.ID), e.Reason)
}

// cut shortens an id for a message.
func cut(id string) string {
	if len(id) <= MaxID {
		return id
	}
	return strings.ToValidUTF8(id[:20], "") + "…"
}

// CheckID tells whether a workflow or an agent may be stored under an id. It is the one rule for all that stores: people type ids, and they are part of addresses of the
// HTTP API, so that what is stored can be shown and deleted by every transport. An id has 1 to MaxID bytes of UTF-8 that can be printed, no slashes, no blanks around it
// and none but spaces in it, and begins with neither a dash, which is a flag on the command line, nor a dot, which is a folder.
//
// Errors: *IDError.
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
