package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/tool"
)

// result converts a server's response into a tool result.
//
// Text is all text content in order; other content is named in square brackets in its place.
// Structured is the server's structured content; for a response with images, sounds or resources it
// is the response's `content` and `structuredContent` as the protocol encodes them.
func (ts *Toolset) result(res *sdk.CallToolResult) (tool.Result, error) {
	var parts []string
	onlyText := true
	for _, c := range res.Content {
		text, plain := describe(c)
		onlyText = onlyText && plain
		parts = append(parts, text)
	}
	out := tool.Result{Text: strings.Join(parts, "\n"), IsError: res.IsError}
	var err error
	switch {
	case !onlyText:
		whole := map[string]any{"content": res.Content}
		if res.StructuredContent != nil {
			whole["structuredContent"] = res.StructuredContent
		}
		out.Structured, err = json.Marshal(whole)
	case res.StructuredContent != nil:
		out.Structured, err = json.Marshal(res.StructuredContent)
		if out.Text == "" {
			out.Text = string(out.Structured) // a model reads only text
		}
	}
	if err != nil {
		return tool.Result{}, fmt.Errorf("read the server's answer: %w", err)
	}
	out.Text, out.Structured = ts.red.Text(out.Text), ts.red.JSON(out.Structured)
	return out, nil
}

// describe returns a block's text and whether that is the whole block.
func describe(c sdk.Content) (text string, plain bool) {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text, true
	case *sdk.ImageContent:
		return note("image", c.MIMEType, size(len(c.Data))), false
	case *sdk.AudioContent:
		return note("audio", c.MIMEType, size(len(c.Data))), false
	case *sdk.ResourceLink:
		return note("resource", c.URI, c.Name, c.MIMEType), false
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return note("resource"), false
		}
		if c.Resource.Text != "" {
			return note("resource", c.Resource.URI, c.Resource.MIMEType) + "\n" + c.Resource.Text, false
		}
		return note("resource", c.Resource.URI, c.Resource.MIMEType, size(len(c.Resource.Blob))), false
	}
	return note("content of an unknown kind"), false
}

// note formats what a block is: [image: image/png, 70 bytes].
func note(kind string, facts ...string) string {
	var known []string
	for _, f := range facts {
		if f != "" {
			known = append(known, f)
		}
	}
	if len(known) == 0 {
		return "[" + kind + "]"
	}
	return "[" + kind + ": " + strings.Join(known, ", ") + "]"
}

func size(n int) string { return fmt.Sprintf("%d bytes", n) }
