package conformance_test

import (
	"fmt"
	"strings"
)

// canvas returns a canvas document. Connections are written `s -> a -> ok:approve -> b; x ->
// y:input`: a handle is the outgoing one, or at the end of a chain the incoming one.
func canvas(connections string, nodes ...string) string {
	var edges []string
	for chain := range strings.SplitSeq(connections, ";") {
		ends := strings.Split(chain, "->")
		for i := range len(ends) - 1 {
			from, sourceHandle, _ := strings.Cut(strings.TrimSpace(ends[i]), ":")
			to, targetHandle, _ := strings.Cut(strings.TrimSpace(ends[i+1]), ":")
			if i+2 < len(ends) {
				targetHandle = ""
			}
			edge := fmt.Sprintf(`{"source":%q,"target":%q`, from, to)
			if sourceHandle != "" {
				edge += fmt.Sprintf(`,"sourceHandle":%q`, sourceHandle)
			}
			if targetHandle != "" {
				edge += fmt.Sprintf(`,"targetHandle":%q`, targetHandle)
			}
			edges = append(edges, edge+"}")
		}
	}
	return fmt.Sprintf("{\"nodes\":[\n  %s\n],\"connections\":[\n  %s\n]}\n", strings.Join(nodes, ",\n  "),
		strings.Join(edges, ",\n  "))
}

// node returns a node; data is a JSON object.
func node(id, typ, data string) string {
	return fmt.Sprintf(`{"id":%q,"type":%q,"x":0,"y":0,"data":%s}`, id, typ, data)
}

// start returns the start node s. The tests pass the input with the run unless they state
// otherwise.
func start() string { return node("s", "start", `{}`) }

// agent returns an agent node whose agent has the node's id as its name; more are further fields of
// data.
func agent(id string, more ...string) string {
	return node(id, "agent", "{"+strings.Join(append([]string{fmt.Sprintf(`"agentName":%q`, id)}, more...), ",")+"}")
}

// agents returns several agent nodes.
func agents(ids string) []string {
	var out []string
	for id := range strings.FieldsSeq(ids) {
		out = append(out, agent(id))
	}
	return out
}

// approval returns an approval node.
func approval(id string) string { return node(id, "approval", `{}`) }

// gate returns an if node; a condition is an operator, a space and the operand.
func gate(id string, conditions ...string) string {
	var list []string
	for _, c := range conditions {
		op, value, _ := strings.Cut(c, " ")
		list = append(list, fmt.Sprintf(`{"operator":%q,"value":%q}`, op, value))
	}
	return node(id, "if", `{"conditions":[`+strings.Join(list, ",")+`]}`)
}

// mayAsk lets an agent have sub-agents.
const mayAsk = `"tools":{"subagents":true}`

// steps returns a steps document with agents of these names.
func steps(names, workflow string) string {
	out := "agents:\n"
	for name := range strings.FieldsSeq(names) {
		out += "  " + name + ": {instruction: You are " + name + ".}\n"
	}
	return out + "workflow:\n" + strings.TrimPrefix(workflow, "\n")
}

// prior returns a user message with the outputs of earlier steps (S4-3): a label and a text for
// each.
func prior(prompt string, labelsAndTexts ...string) string {
	out := "--- Prior Step Outputs ---\n\n"
	for i := 0; i < len(labelsAndTexts); i += 2 {
		out += "[" + labelsAndTexts[i] + "]:\n" + labelsAndTexts[i+1] + "\n\n"
	}
	return out + "--- End Prior Step Outputs ---\n\n" + prompt
}
