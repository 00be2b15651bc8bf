package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/schema"
)

// BenchmarkValidate_Limit measures checks whose work is just below MaxWork. Nothing interrupts them,
// so each has to take well under a second.
func BenchmarkValidate_Limit(b *testing.B) {
	texts := make([]string, 4000)
	for i := range texts {
		texts[i] = fmt.Sprintf(`"%08d"`, i)
	}
	list := "[" + strings.Repeat(texts[len(texts)-1]+",", 4800) + `"x"]`
	numbers := "[" + strings.Repeat("1.5,", 8_000) + "1]"
	for name, c := range map[string]struct{ schema, value string }{
		"enum":    {`{"items":{"enum":[` + strings.Join(texts, ",") + `]}}`, list},
		"pattern": {`{"pattern":"^(a|aa)*b$"}`, `"` + strings.Repeat("a", 8_000_000) + `"`},
		"items":   {`{"items":{"minimum":2}}`, "[" + strings.Repeat("1,", 490_000) + "1]"},
		"anyOf": {`{"items":{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"minimum":2},`, 30), ",") + `]}}`,
			numbers},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := schema.Compile(json.RawMessage(c.schema))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				v := s.Validate(json.RawMessage(c.value))
				if len(v) == 0 || strings.Contains(v[0].Message, "that is the limit") {
					b.Fatal(v)
				}
			}
		})
	}
}
