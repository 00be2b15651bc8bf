package enginetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
)

// Text returns s as a JSON string.
func Text(s string) engine.Value { return expr.Quote(s) }

// Print formats events, one per line: number, type, step and node, data.
func Print(events []engine.Event) string {
	var b strings.Builder
	for _, ev := range events {
		data, err := json.Marshal(ev.Data)
		if err != nil {
			data = []byte(err.Error())
		}
		where := ""
		if ev.Step > 0 {
			where = fmt.Sprintf(" #%d", ev.Step)
		}
		if ev.Node != "" {
			where += " " + ev.Node
		}
		fmt.Fprintf(&b, "%d %s%s %s\n", ev.Seq, ev.Data.Type(), where, data)
	}
	return b.String()
}
