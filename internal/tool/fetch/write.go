package fetch

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/tool"
)

// write builds the result of a call. The result is a tool error only if no address returned
// anything.
func write(list []pageResult) (tool.Result, error) {
	var b strings.Builder
	failed := 0
	for i := range list {
		if i > 0 {
			b.WriteString("\n\n")
		}
		list[i].write(&b)
		if list[i].Error != "" {
			failed++
		}
	}
	structured, err := json.Marshal(list)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write result: %w", err)
	}
	return tool.Result{Text: b.String(), IsError: failed == len(list), Structured: structured}, nil
}

// write writes the metadata of an address, then its content.
func (f *pageResult) write(b *strings.Builder) {
	fmt.Fprintf(b, "URL: %s\n", f.URL)
	if f.Final != "" {
		fmt.Fprintf(b, "Redirected to: %s\n", f.Final)
	}
	if f.Error != "" {
		fmt.Fprintf(b, "Error: %s\n", f.Error)
	}
	if f.Type != "" {
		fmt.Fprintf(b, "Content type: %s\n", f.Type)
	}
	if f.text == "" {
		return
	}
	if f.Truncated {
		fmt.Fprintf(b, "Truncated: the page is longer; this is its beginning (%d bytes)\n", len(f.text))
	}
	fmt.Fprintf(b, "\n%s", f.text)
}
