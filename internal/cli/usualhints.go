package cli

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
)

// usualHints are the hints for problems that have none of their own. A test checks that there is a
// hint for every mistake in testdata/mistakes.txtar.
var usualHints = map[string]string{
	"bad-condition": "conditions, and what is between {{ and }}, are CEL expressions, such as " +
		"$steps.ID.output.contains(\"yes\")",
	"duplicate-node": "give one of them another id",
	"duplicate-key":  "remove one of the two",
	"empty-document": "`hocket init` creates an example document",
	"missing-key":    "write the key, with a value",
	"subagent-self":  "remove the connection",
	"subagent-cycle": "remove one of the connections",
	"syntax":         "look for a bracket or quotation mark that is not closed, or a wrong indentation",
	"unknown-key":    "remove it; `hocket schema` lists the keys",
	"unreadable":     "give the path of an existing document",
	"wrong-type":     "`hocket schema` shows the values that a key accepts",
}

// hinted adds the hints of the command line to problems; a problem without one gets the usual hint
// of its code.
func hinted(list diag.List) diag.List {
	list = errcode.Hinted(list, errcode.Command)
	for i := range list {
		if list[i].Hint == "" && list[i].Severity == diag.Error {
			list[i].Hint = usualHints[list[i].Code]
		}
	}
	return list
}
