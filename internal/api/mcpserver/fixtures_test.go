package mcpserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
)

// withFixtures are the scenarios of the conformance suite that need the suite's own tools and that
// exercise our own code: the handler with its sessions, which connects a call to its caller and the
// server's requests to their client, and the lists of tools. They run against a server of this
// package that also offers these tools. Scenarios that would test only the SDK (reading, prompts)
// are left out, and so are subscriptions, which exist only for Hocket's own resources.
var withFixtures = map[string]bool{
	"tools-call-simple-text": true, "tools-call-image": true, "tools-call-audio": true,
	"tools-call-embedded-resource": true, "tools-call-mixed-content": true, "tools-call-error": true,
	"tools-call-with-logging": true, "tools-call-with-progress": true, "tools-call-sampling": true,
	"tools-call-elicitation": true, "elicitation-sep1034-defaults": true,
	"elicitation-sep1330-enums": true, "json-schema-2020-12": true,
}

// fixtureServer returns the URL of a server with the tools of the conformance suite.
func fixtureServer(t *testing.T) string {
	t.Helper()
	w := newWorld(t, mcpserver.Config{}, echoModel)
	w.server.AlsoOffer(offerFixtures)
	return suiteProxy(t, w.url, w.token(access.RoleRun, false))
}

// suiteProxy returns the URL of a proxy that adds a token, since the suite does not support tokens.
func suiteProxy(t *testing.T, address, token string) string {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var own string // the proxy's host, which the suite takes for the server's
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			if r.In.Host != own {
				r.Out.Host = r.In.Host // a foreign host stays foreign: the server must reject it
			}
			if r.In.Header.Get("Origin") == "http://"+own {
				r.Out.Header.Set("Origin", address)
			}
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), // the suite leaves streams open
	})
	own = proxy.Listener.Addr().String()
	proxy.Start()
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// The smallest image and sound.
const (
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
)

func bytesOf(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

// fixture implements a tool of the suite.
type fixture func(ctx context.Context, req *sdk.CallToolRequest) ([]sdk.Content, error)

// fixedContent returns a fixture that always returns the same content.
func fixedContent(content ...sdk.Content) fixture {
	return func(context.Context, *sdk.CallToolRequest) ([]sdk.Content, error) { return content, nil }
}

// elicits returns a fixture that elicits input from the client's user.
func elicits(schema object) fixture {
	return func(ctx context.Context, req *sdk.CallToolRequest) ([]sdk.Content, error) {
		res, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "form", Message: "Who are you?",
			RequestedSchema: object{"type": "object", "properties": schema}})
		if err != nil {
			return nil, err
		}
		return text(fmt.Sprintf("%s: %v", res.Action, res.Content)), nil
	}
}

func text(s string) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: s}} }

// offerFixtures adds the tools that the scenarios call.
func offerFixtures(s *sdk.Server) {
	said := &sdk.TextContent{Text: "A simple text."}
	picture := &sdk.ImageContent{Data: bytesOf(pixel), MIMEType: "image/png"}
	page := &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "test://page", MIMEType: "text/plain",
		Text: "A page."}}
	options := []string{"a", "b", "c"}
	titled := []object{{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}}
	for name, do := range map[string]fixture{
		"test_simple_text":            fixedContent(said),
		"test_image_content":          fixedContent(picture),
		"test_audio_content":          fixedContent(&sdk.AudioContent{Data: bytesOf(silence), MIMEType: "audio/wav"}),
		"test_embedded_resource":      fixedContent(page),
		"test_multiple_content_types": fixedContent(said, picture, page),
		"test_error_handling": func(context.Context, *sdk.CallToolRequest) ([]sdk.Content, error) {
			return nil, errors.New("as intended")
		},
		"test_tool_with_logging": func(ctx context.Context, req *sdk.CallToolRequest) ([]sdk.Content, error) {
			var err error
			for _, line := range []string{"begins", "goes on", "ends"} {
				//nolint:staticcheck // the suite is of that version
				err = errors.Join(err, req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info",
					Data: line}))
			}
			return text("logged"), err
		},
		"test_tool_with_progress": func(ctx context.Context, req *sdk.CallToolRequest) ([]sdk.Content, error) {
			var err error
			for _, done := range []float64{0, 50, 100} {
				err = errors.Join(err, req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
					ProgressToken: req.Params.GetProgressToken(), Progress: done, Total: 100,
				}))
			}
			return text("done"), err
		},
		"test_sampling": func(ctx context.Context, req *sdk.CallToolRequest) ([]sdk.Content, error) {
			//nolint:staticcheck // the suite is of that version
			res, err := req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{
				Messages: []*sdk.SamplingMessage{{Role: "user", Content: said}}, MaxTokens: 10,
			})
			if err != nil {
				return nil, err
			}
			return []sdk.Content{res.Content}, nil
		},
		"test_elicitation": elicits(object{"username": object{"type": "string"}, "email": object{"type": "string"}}),
		"test_elicitation_sep1034_defaults": elicits(object{
			"name": object{"type": "string", "default": "John Doe"}, "age": object{"type": "integer", "default": 30},
			"score": object{"type": "number", "default": 95.5},
			"status": object{"type": "string", "enum": []string{"active", "inactive", "pending"},
				"default": "active"},
			"verified": object{"type": "boolean", "default": true},
		}),
		"test_elicitation_sep1330_enums": elicits(object{
			"untitledSingle": object{"type": "string", "enum": options},
			"titledSingle":   object{"type": "string", "oneOf": titled},
			"legacyEnum": object{"type": "string", "enum": options,
				"enumNames": []string{"First", "Second", "Third"}},
			"untitledMulti": object{"type": "array", "items": object{"type": "string", "enum": options}},
			"titledMulti":   object{"type": "array", "items": object{"anyOf": titled}},
		}),
		"json_schema_2020_12_tool": fixedContent(said),
	} {
		schema := json.RawMessage(`{"type": "object"}`)
		if name == "json_schema_2020_12_tool" {
			schema = json.RawMessage(
				`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "$defs": {"address": ` +
					`{"type": "object", "properties": {"street": {"type": "string"},
				"city": {"type": "string"}}}}, "properties": {"name": {"type": "string"}, "address": {"$ref": ` +
					`"#/$defs/address"}}, "additionalProperties": false}`)
		}
		s.AddTool(&sdk.Tool{Name: name, Description: "A tool of the conformance suite.", InputSchema: schema},
			func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				content, err := do(ctx, req)
				if err != nil {
					return &sdk.CallToolResult{IsError: true, Content: text(err.Error())}, nil
				}
				return &sdk.CallToolResult{Content: content}, nil
			})
	}
}
