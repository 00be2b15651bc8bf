package cli

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
)

// usualHints say what to do about problems whose readers know no better. A test holds that there is a hint for every mistake of testdata/mistakes.txtar.
var usualHints = map[string]string{
	"bad-condition":  "conditions, and what is between {{ and }}, are CEL expressions, such as $steps.ID.output.contains(\"yes\")",
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

// hinted gives problems the hints of the command line, and those without one the usual hint of their code.
func hinted(list diag.List) diag.List {
	list = errcode.Hinted(list, errcode.Command)
	for i := range list {
		if list[i].Hint == "" && list[i].Severity == diag.Error {
			list[i].Hint = usualHints[list[i].Code]
		}
	}
	return list
}
