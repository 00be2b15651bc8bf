package fetch

import (
	"bytes"
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
	var structured bytes.Buffer
	enc := json.NewEncoder(&structured)
	enc.SetEscapeHTML(false) // pages are read as text
	if err := enc.Encode(list); err != nil {
		return tool.Result{}, fmt.Errorf("write result: %w", err)
	}
	return tool.Result{Text: b.String(), IsError: failed == len(list),
		Structured: bytes.TrimSuffix(structured.Bytes(), []byte("\n"))}, nil
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
	if f.Text == "" {
		return
	}
	if f.Truncated {
		fmt.Fprintf(b, "Truncated: the page is longer; this is its beginning (%d bytes)\n", len(f.Text))
	}
	fmt.Fprintf(b, "\n%s", f.Text)
}
