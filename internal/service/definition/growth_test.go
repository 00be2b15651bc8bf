package definition_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/service/definition"
)

// each returns n texts, joined by commas; format has the number once or several times, as %[1]d.
func each(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

const growthSteps = `"workflow":[{"type":"agent","name":"a"}]`

// growing are documents of n parts, each of which could cost as much as all parts.
var growing = map[string]func(n int) string{
	"permissions of the document, for each agent": func(n int) string {
		return `{"permissions":{"deny":[` + each(n, `"shell:cmd=x%d*"`) + `]},"agents":{` +
			each(n, `"a%d":{"toolsets":[{"type":"shell"}]}`) + `,"a":{}},` + growthSteps + `}`
	},
	"unknown permissions of the document": func(n int) string {
		return `{"permissions":{"deny":[` + each(n, `"unknown%d"`) + `]},"agents":{` +
			each(n, `"a%d":{"toolsets":[{"type":"shell"}]}`) + `,"a":{}},` + growthSteps + `}`
	},
	"a chain of agents that deny": func(n int) string {
		var agents strings.Builder
		for i := range n {
			fmt.Fprintf(&agents, `"a%d":{"toolsets":[{"type":"shell"}],"permissions":{"deny":["shell"]},`+
				`"sub_agents":["a%d"]},`, i, i+1)
		}
		return fmt.Sprintf(`{"agents":{%s"a%d":{}},"workflow":[{"type":"agent","name":"a0"}]}`, agents.String(), n)
	},
	"names of tools that a toolset lacks": func(n int) string {
		return `{"agents":{"a":{"toolsets":[{"type":"script","tools":[` + each(n, `"unknown%d"`) + `],"shell":{` +
			each(n, `"tool%d":{"cmd":"x"}`) + `}}]}},` + growthSteps + `}`
	},
	"names of MCP servers that the document lacks": func(n int) string {
		return `{"mcps":{` + each(n, `"m%d":{"command":"x"}`) + `},"agents":{"a":{"toolsets":[` +
			each(n, `{"type":"mcp","ref":"unknown%d"}`) + `]}},` + growthSteps + `}`
	},
	"names of inputs that a canvas document lacks": func(n int) string {
		return `{"inputs":{` + each(n, `"input%d":{"default":"x"}`) + `},"nodes":[{"id":"s","type":"start"},` +
			`{"id":"w","type":"agent","data":{"agentName":"W","userPrompt":"` +
			strings.Repeat("{{ $input.unknown }}", n) + `"}}],"connections":[{"source":"s","target":"w"}]}`
	},
	"canvas nodes that join one connection": func(n int) string {
		return `{"nodes":[{"id":"n0","type":"start"},` +
			each(n, `{"id":"m%[1]d","type":"agent","data":{"agentName":"A","join":"all"}}`) + `],"connections":[` +
			`{"source":"n0","target":"m0"},` + each(n, `{"source":"m0","target":"m%d"}`) + `]}`
	},
	"members that an output lacks": func(n int) string {
		return `{"agents":{"a":{"structured_output":{"name":"x","schema":{"type":"object",` +
			`"additionalProperties":false,"properties":{` + each(n, `"p%d":{"type":"string"}`) +
			`}}}}},"workflow":[{"id":"q","type":"agent","name":"a"},` +
			each(n, `{"id":"s%[1]d","type":"set","values":{"v":"{{ $steps.q.output.unknown%[1]d }}"}}`) + `]}`
	},
}

// TestLoad_Growth checks that what a document costs grows with its size, not with the square of it:
// what is allocated stands for it.
func TestLoad_Growth(t *testing.T) {
	for name, document := range growing {
		t.Run(name, func(t *testing.T) {
			read := func(n int) uint64 {
				data := []byte(document(n))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, _, err := definition.Load(t.Context(), "d.json", data,
					definition.LoadOptions{Formats: linked.Kit().Formats})
				runtime.ReadMemStats(&after)
				if err != nil {
					t.Fatal(err)
				}
				return after.TotalAlloc - before.TotalAlloc
			}
			read(10) // one-time allocations
			const n = 400
			once, twice := read(n), read(2*n)
			if ratio := float64(twice) / float64(once); ratio > 2.7 {
				t.Errorf("%d parts allocate %d bytes, %d parts %d, %.2f times as many", n, once, 2*n, twice, ratio)
			}
		})
	}
}
