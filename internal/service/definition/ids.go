package definition

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/format/source"
)

// codeID is the diagnostic code for ids that cannot be stored.
const codeID = "bad-id"

// storedIDs returns the problems of the agent ids in a document that is to be stored, with their
// positions. Otherwise a document may name its agents freely.
func storedIDs(file string, data []byte) (problems diag.List) {
	root, _ := source.Parse(file, data) // its reader reports syntax errors
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

// ownID returns the problems of the id in a workflow's document.
func ownID(file string, data []byte) (problems diag.List) {
	if root, _ := source.Parse(file, data); root != nil {
		checkIDAt(root.Get("id"), "a workflow", &problems)
	}
	return problems
}

// checkIDAt checks an id at its position. A number is not an id: 007 and 7 could be one id or two,
// depending on the reader.
func checkIDAt(n *source.Node, what string, problems *diag.List) {
	switch {
	case n.IsNull(), n.IsScalar() && n.Text == "": // it is missing, which the format reports
	case n.Kind != source.String:
		problems.Errorf(n.Span, n.Path(), source.CodeWrongType, "the id of %s must be a string, found %s", what,
			n.Kind).Hint = "write it in quotes"
	default:
		if err := catalog.CheckID(n.Text); err != nil {
			problems.Errorf(n.Span, n.Path(), codeID, "%v", err)
		}
	}
}
