package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Call specifies which workflow a node runs: a stored workflow by its ID, in the version with the
// given number, or the published version if it is 0; or the workflow in a file.
type Call struct {
	ID      string
	Version int
	// File is a slash-separated path, relative to the document, that begins with `./` or `../`. ID
	// is then empty.
	File string
}

// ParseCall parses `ID`, `ID@VERSION`, `./FILE` or `../FILE`. It returns false if text has none of
// these forms.
func ParseCall(text string) (Call, bool) {
	if isFile := strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../"); isFile {
		plain := !strings.ContainsAny(text, "\\\x00") && !strings.HasSuffix(text, "/")
		return Call{File: text}, plain && path.Base(text) != ".." && path.Base(text) != "."
	}
	id, number, isPinned := strings.Cut(text, "@")
	c := Call{ID: id}
	if isPinned {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || strconv.Itoa(n) != number {
			return c, false
		}
		c.Version = n
	}
	return c, id != "" && strings.TrimSpace(id) == id && !strings.ContainsAny(id, "/\\") && id[0] != '.' && id[0] != '-'
}

// maxCallName is the maximum length of a tool name in bytes.
const maxCallName = 64

// CallTool returns the name of the tool that runs the workflow that text names: `workflow_`
// followed by the text reduced to letters, digits, `_` and `-`. If the reduction loses something,
// or the name is too long, a digest of the text is appended, so that two workflows have two names.
func CallTool(text string) string {
	plain := strings.TrimPrefix(text, "./")
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, plain)
	name = "workflow_" + name
	if name == "workflow_"+text && len(name) <= maxCallName {
		return name
	}
	sum := sha256.Sum256([]byte(text))
	digest := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxCallName-len(digest))] + digest
}

// toolset returns the toolset of type `workflow` whose only tool runs the workflow that n names.
func (n *ToolNode) toolset() json.RawMessage {
	c, _ := ParseCall(n.Workflow)
	set := map[string]any{"type": "workflow", "tool": n.Tool, "input": "value"}
	switch {
	case c.File != "":
		set["file"] = c.File
	default:
		set["workflow"] = c.ID
		if c.Version > 0 {
			set["version"] = c.Version
		}
	}
	raw, _ := json.Marshal(set) // strings and numbers cannot fail
	return raw
}

// Calls returns the nodes of w that run other workflows, in order and only the first node for each
// workflow.
func (w *Workflow) Calls() []*Node {
	var out []*Node
	for i := range w.Nodes {
		n := &w.Nodes[i]
		if n.Tool != nil && n.Tool.Workflow != "" && !slices.ContainsFunc(out, func(o *Node) bool {
			return o.Tool.Workflow == n.Tool.Workflow
		}) {
			out = append(out, n)
		}
	}
	return out
}
