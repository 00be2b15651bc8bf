package drivertest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
)

// show formats events, one per line.
func show(events []engine.Event) string {
	var b strings.Builder
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			data = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%3d %s %-16s %-10s #%d %s\n", e.Seq, e.At.Format("15:04:05.000"), e.Data.Type(), e.Node,
			e.Step, data)
	}
	return b.String()
}
