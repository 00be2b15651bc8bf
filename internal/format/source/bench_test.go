package source

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkParse reads a canvas of 10,000 nodes (about 1 MB), as JSON on one line, as indented JSON
// and as YAML.
func BenchmarkParse(b *testing.B) {
	var line, indented, yaml strings.Builder
	line.WriteString(`{"nodes":[`)
	indented.WriteString("{\n  \"nodes\": [\n")
	yaml.WriteString("nodes:\n")
	for i := range 10_000 {
		fmt.Fprintf(&line, `{"id":"n%d","type":"agent","x":%d,"data":{"userPrompt":"Write é {{PREVIOUS_OUTPUT}}"}},`, i,
			i)
		fmt.Fprintf(&indented, "    {\n      \"id\": \"n%d\",\n      \"type\": \"agent\",\n      \"x\": %d,\n      "+
			"\"data\": {\"userPrompt\": \"Write é {{PREVIOUS_OUTPUT}}\"}\n    },\n", i, i)
		fmt.Fprintf(&yaml, "  - id: n%d\n    type: agent\n    x: %d\n    data:\n      userPrompt: Write é "+
			"{{PREVIOUS_OUTPUT}}\n", i, i)
	}
	line.WriteString("{}]}")
	indented.WriteString("    {}\n  ]\n}\n")
	for name, src := range map[string]string{"line": line.String(), "indented": indented.String(),
		"yaml": yaml.String()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if _, diags := Parse("f", []byte(src)); len(diags) > 0 {
					b.Fatal(diags)
				}
			}
		})
	}
}
