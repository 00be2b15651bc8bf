package definition

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/format/source"
)

// codeID is the code of ids that cannot be stored.
const codeID = "bad-id"

// storedIDs tells what is wrong with the ids of agents in a document that is to be stored, at their places. Elsewhere a document may name its agents as it likes.
func storedIDs(file string, data []byte) (problems diag.List) {
	root, _ := source.Parse(file, data) // its reader reports what is wrong with its form
	if root != nil && root.Kind == source.Map {
		root = root.Get("agents")
	}
	if root == nil || root.Kind != source.List {
		return nil
	}
	for _, item := range root.Items {
		checkIDAt(item.Get("id"), "an agent", &problems)
	}
	return problems
}

// ownID tells what is wrong with the id that a workflow's document gives itself.
func ownID(file string, data []byte) (problems diag.List) {
	if root, _ := source.Parse(file, data); root != nil {
		checkIDAt(root.Get("id"), "a workflow", &problems)
	}
	return problems
}

// checkIDAt judges an id where it stands. A number is none: 007 and 7 would be one id or two, by who reads them.
func checkIDAt(n *source.Node, what string, problems *diag.List) {
	switch {
	case n.IsNull(), n.IsScalar() && n.Text == "": // it is missing, which the format tells
	case n.Kind != source.String:
		problems.Errorf(n.Span, n.Path(), source.CodeWrongType, "the id of %s must be a string, found %s", what, n.Kind).Hint = "write it in quotes"
	default:
		if err := catalog.CheckID(n.Text); err != nil {
			problems.Errorf(n.Span, n.Path(), codeID, "%v", err)
		}
	}
}
