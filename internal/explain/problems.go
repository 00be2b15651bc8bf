package explain

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/errcode"
)

// problems returns the entries of the table of errors: one for each code of a problem, and one for
// each reason.
func problems() []Entry {
	var out []Entry
	for _, g := range errcode.Groups() {
		if g.Meaning != "" {
			out = append(out, Entry{Code: string(g.Family), Kind: API, Meaning: g.Meaning, Cause: g.Cause,
				Repair: g.Repair})
		}
	}
	for _, e := range errcode.Entries() {
		out = append(out, Entry{Code: string(e.Code), Kind: Reason, Meaning: sentence(expandPlaceholders(e.Message)),
			Cause: e.Cause, Repair: repair(e)})
	}
	return out
}

// repair returns the hints of an entry and its problem code.
func repair(e errcode.Entry) string {
	var parts []string
	for t, name := range []string{errcode.Command: "Command line: ", errcode.HTTP: "HTTP: ", errcode.Tools: "MCP: "} {
		if hint := e.Hints[t]; hint != "" {
			parts = append(parts, name+expandPlaceholders(hint)+".")
		}
	}
	if len(parts) == 0 {
		parts = append(parts, errcode.GroupOf(e.Family).Repair)
	}
	return strings.Join(parts, " ") + " Problem code " + string(e.Family) + "."
}

// expandPlaceholders replaces the placeholders for fields with words in capitals.
func expandPlaceholders(text string) string {
	for _, name := range errcode.Places(text) {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "{"+name+"}", strings.ToUpper(name)), "{"+name+":q}",
			strings.ToUpper(name))
	}
	return text
}

func sentence(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:] + "."
}
