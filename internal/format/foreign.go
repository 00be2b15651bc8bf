package format

import (
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/format/source"
)

// foreignSystem is another system whose files are named in place of a list of errors.
type foreignSystem struct {
	// name says what the file is, and page is the page of docs on the format that is closest to it.
	name, page string
	// is reports whether a document, which is a map, is such a file and cannot be one of Hocket.
	is func(root *source.Node) bool
}

// foreignSystems returns the systems whose files are known.
func foreignSystems() []foreignSystem {
	return []foreignSystem{
		{"a workflow of n8n", "canvas.md", isN8n},
		{"an app of Dify", "canvas.md", isDify},
		{"a flow of Flowise", "canvas.md", isFlowise},
		{"a flow of Langflow", "canvas.md", isLangflow},
		{"a workflow of Conductor", "steps.md", func(n *source.Node) bool {
			return anyItem(n.Get("tasks"), hasKey("taskReferenceName"))
		}},
		{"a flow of Prompt Flow", "steps.md", isPromptFlow},
		{"a configuration of LangGraph", "graphs.md", func(n *source.Node) bool {
			return is(n.Get("graphs"), source.Map) && n.Get("nodes") == nil && n.Get("agents") == nil
		}},
		{"a workflow of OpenAI's Agent Builder", "canvas.md", isAgentBuilder},
		{"a workflow of GitHub Actions", "steps.md", func(n *source.Node) bool {
			return anyItem(n.Get("jobs"), func(j *source.Node) bool {
				return hasKey("runs-on")(j) || hasKey("uses")(j)
			})
		}},
		{"a workflow of Argo", "steps.md", func(n *source.Node) bool {
			return strings.HasPrefix(textOf(n.Get("apiVersion")), "argoproj.io/")
		}},
		{"a state machine of AWS Step Functions", "steps.md", func(n *source.Node) bool {
			return textOf(n.Get("StartAt")) != "" && is(n.Get("States"), source.Map)
		}},
		{"a Serverless Workflow", "steps.md", func(n *source.Node) bool {
			return textOf(n.Get("document").Get("dsl")) != "" ||
				textOf(n.Get("specVersion")) != "" && is(n.Get("states"), source.List)
		}},
		{"a file of agents or tasks of CrewAI", "agents.md", isCrewAI},
		{"a workflow of Dagu", "steps.md", isDagu},
	}
}

// foreign returns the system whose file a document is, or false if it is of none that is known.
// Several documents may be exported as a list.
func foreign(root *source.Node) (foreignSystem, bool) {
	if is(root, source.List) && len(root.Items) > 0 {
		root = root.Items[0]
	}
	if !is(root, source.Map) {
		return foreignSystem{}, false
	}
	systems := foreignSystems()
	if i := slices.IndexFunc(systems, func(s foreignSystem) bool { return s.is(root) }); i >= 0 {
		return systems[i], true
	}
	return foreignSystem{}, false
}

func isN8n(root *source.Node) bool {
	return anyItem(root.Get("nodes"), func(n *source.Node) bool {
		return strings.Contains(textOf(n.Get("type")), "n8n-nodes") ||
			n.Get("typeVersion") != nil && n.Get("position") != nil
	})
}

func isDify(root *source.Node) bool {
	if root.Get("agents") != nil {
		return false
	}
	return is(root.Get("workflow").Get("graph"), source.Map) ||
		textOf(root.Get("kind")) == "app" && is(root.Get("app"), source.Map)
}

func isFlowise(root *source.Node) bool {
	return anyItem(root.Get("nodes"), func(n *source.Node) bool {
		data := n.Get("data")
		return data.Get("inputAnchors") != nil || data.Get("outputAnchors") != nil || data.Get("baseClasses") != nil
	})
}

func isLangflow(root *source.Node) bool {
	ofLangflow := func(n *source.Node) bool {
		return is(n.Get("data").Get("node").Get("template"), source.Map) || textOf(n.Get("type")) == "genericNode"
	}
	return anyItem(root.Get("data").Get("nodes"), ofLangflow) || anyItem(root.Get("nodes"), ofLangflow)
}

func isPromptFlow(root *source.Node) bool {
	if strings.Contains(textOf(root.Get("$schema")), "promptflow") {
		return true
	}
	return anyItem(root.Get("nodes"), func(n *source.Node) bool {
		kind := textOf(n.Get("source").Get("type"))
		return slices.Contains([]string{"code", "package", "package_with_prompt"}, kind)
	})
}

// agentBuilderNodes are types of nodes that only Agent Builder has.
var agentBuilderNodes = []string{"guardrails", "guardrail", "file_search", "file-search", "fileSearch", "if_else",
	"if-else", "ifElse", "user_approval", "user-approval", "userApproval", "set_state", "set-state", "setState"}

func isAgentBuilder(root *source.Node) bool {
	exported := strings.HasPrefix(textOf(root.Get("id")), "wf_")
	return is(root.Get("edges"), source.List) && anyItem(root.Get("nodes"), func(n *source.Node) bool {
		if n.Get("data") == nil || n.Get("config") != nil || n.Get("nodeType") != nil {
			return false
		}
		return exported || slices.Contains(agentBuilderNodes, textOf(n.Get("type")))
	})
}

func isCrewAI(root *source.Node) bool {
	if len(root.Entries) == 0 {
		return false
	}
	return !slices.ContainsFunc(root.Entries, func(e source.Entry) bool {
		agent := e.Value.Get("role") != nil && e.Value.Get("goal") != nil
		task := e.Value.Get("description") != nil && e.Value.Get("expected_output") != nil
		return !agent && !task
	})
}

func isDagu(root *source.Node) bool {
	if root.Get("workflow") != nil || root.Get("agents") != nil {
		return false
	}
	return anyItem(root.Get("steps"), func(n *source.Node) bool {
		return n.IsScalar() || slices.ContainsFunc([]string{"command", "run", "script", "executor", "call", "depends"},
			func(key string) bool { return n.Get(key) != nil })
	})
}

// is reports whether there is a value of a kind.
func is(n *source.Node, kind source.Kind) bool { return n != nil && n.Kind == kind }

// textOf returns the text of a scalar, or "".
func textOf(n *source.Node) string {
	if n == nil || !n.IsScalar() {
		return ""
	}
	return n.Text
}

// hasKey returns a function that reports whether a value is a map with that key.
func hasKey(key string) func(*source.Node) bool {
	return func(n *source.Node) bool { return n.Get(key) != nil }
}

// anyItem reports whether f is true for an item of a list or a value of a map.
func anyItem(n *source.Node, f func(*source.Node) bool) bool {
	if n == nil {
		return false
	}
	return slices.ContainsFunc(n.Items, f) ||
		slices.ContainsFunc(n.Entries, func(e source.Entry) bool { return f(e.Value) })
}
