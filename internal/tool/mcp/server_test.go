//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/leaktest"
)

// modeVar is the environment variable that turns the test binary into a server.
const modeVar = "HOCKET_TEST_MCP_MODE"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(modeVar); mode {
	case "":
		leaktest.Main(m)
	case "client":
		if err := conformanceClient(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "odd":
		oddServer()
	case "deaf", "endless", "silent":
		rawServer(mode)
	case "die":
		fmt.Fprintln(os.Stderr, "cannot read the licence file", os.Getenv("API_TOKEN"))
		os.Exit(3)
	case "stubborn":
		// The server exits neither when its input is closed nor on SIGTERM.
		signal.Ignore(syscall.SIGTERM)
		_ = newServer(mode, nil).Run(context.Background(), &sdk.StdioTransport{})
		select {}
	default:
		if err := newServer(mode, nil).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// newServer returns a server with a tool for each case under test. Its hanging calls end when stop
// is closed.
func newServer(mode string, stop <-chan struct{}) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"},
		&sdk.ServerOptions{Instructions: "Ask nicely.", PageSize: 5})
	if mode == "modern" {
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
				if method == "initialize" {
					return nil, &jsonrpc.Error{Code: -32601, Message: "initialize is of the past"}
				}
				return next(ctx, method, req)
			}
		})
	}
	add := func(t *sdk.Tool, h func(ctx context.Context, req *sdk.CallToolRequest, args map[string]any) (
		*sdk.CallToolResult, error)) {
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		s.AddTool(t, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var args map[string]any
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return nil, err
			}
			return h(ctx, req, args)
		})
	}
	text := func(format string, args ...any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
	}
	type handler = func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error)
	echo := func(suffix string) handler {
		return func(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
			return text("%v%s", args["text"], suffix)
		}
	}
	says := "Says it again"
	if mode == "other" {
		says = "Sends it to me"
	}
	echoSchema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	add(&sdk.Tool{Name: "echo", Description: says, InputSchema: echoSchema,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, echo(""))
	add(&sdk.Tool{Name: "put", Annotations: &sdk.ToolAnnotations{IdempotentHint: true}}, echo(""))
	add(&sdk.Tool{Name: "buy"}, echo(""))
	add(&sdk.Tool{Name: "meta"}, func(_ context.Context, req *sdk.CallToolRequest, _ map[string]any) (
		*sdk.CallToolResult, error) {
		return text("%v", req.Params.Meta["hocket/idempotencyKey"])
	})
	add(&sdk.Tool{Name: "sorry"}, func(context.Context, *sdk.CallToolRequest, map[string]any) (
		*sdk.CallToolResult, error) {
		r, err := text("no such record")
		r.IsError = true
		return r, err
	})
	add(&sdk.Tool{Name: "refuse"}, func(context.Context, *sdk.CallToolRequest, map[string]any) (
		*sdk.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -32000, Message: "not today, " + os.Getenv("API_TOKEN")}
	})
	add(&sdk.Tool{Name: "rich"}, func(context.Context, *sdk.CallToolRequest, map[string]any) (
		*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "before"},
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wave")},
			&sdk.ResourceLink{URI: "file:///a.txt", Name: "a", MIMEType: "text/plain"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem://b", MIMEType: "text/plain",
				Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem://c", Blob: []byte("blob!")}},
		}, StructuredContent: map[string]any{"n": 1}}, nil
	})
	add(&sdk.Tool{Name: "structured"}, func(context.Context, *sdk.CallToolRequest, map[string]any) (
		*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"n": 1}}, nil
	})
	add(&sdk.Tool{Name: "env"}, func(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (
		*sdk.CallToolResult, error) {
		v, ok := os.LookupEnv(args["name"].(string))
		return text("%s %v", v, ok)
	})
	add(&sdk.Tool{Name: "crash"}, func(context.Context, *sdk.CallToolRequest, map[string]any) (
		*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(3)
		return nil, nil
	})
	add(&sdk.Tool{Name: "hang"}, func(ctx context.Context, _ *sdk.CallToolRequest, args map[string]any) (
		*sdk.CallToolResult, error) {
		touch(args, "began")
		select {
		case <-ctx.Done():
			touch(args, "cancelled")
		case <-stop:
		}
		return nil, errors.New("stopped")
	})
	add(&sdk.Tool{Name: "progress"}, func(ctx context.Context, req *sdk.CallToolRequest, args map[string]any) (
		*sdk.CallToolResult, error) {
		for i := range int(args["times"].(float64)) {
			// the test is about elapsed time
			time.Sleep(time.Duration(args["ms"].(float64) * float64(time.Millisecond)))
			_ = req.Session.NotifyProgress(ctx,
				&sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)})
		}
		return text("done")
	})
	add(&sdk.Tool{Name: "change"}, func(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (
		*sdk.CallToolResult, error) {
		switch args["how"] {
		case "describe":
			add(&sdk.Tool{Name: "echo", Description: "Sends it to me", InputSchema: echoSchema,
				Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, echo("!"))
		case "remove":
			s.RemoveTools("echo")
		case "add":
			add(&sdk.Tool{Name: "newcomer"}, echo(""))
		}
		return text("changed")
	})
	add(&sdk.Tool{Name: "pids"}, func(context.Context, *sdk.CallToolRequest, map[string]any) (
		*sdk.CallToolResult, error) {
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			return nil, err
		}
		return text("%d %d", os.Getpid(), child.Process.Pid)
	})
	return s
}

// touch creates an empty file in the folder that a test watches.
func touch(args map[string]any, name string) {
	if dir, ok := args["dir"].(string); ok {
		_ = os.WriteFile(filepath.Join(dir, name), nil, 0o600)
	}
}

// rawServer speaks the protocol by hand, in ways that no well-behaved server does.
func rawServer(mode string) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if mode == "silent" {
			continue
		}
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &req) != nil || req.ID == nil {
			continue
		}
		switch req.Method {
		case "initialize":
			fmt.Printf(
				`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},`+
					`"serverInfo":{"name":"raw","version":"1"}}}`+"\n", req.ID)
		case "tools/list":
			next := ""
			if mode == "endless" {
				next = fmt.Sprintf(`,"nextCursor":"%d"`, time.Now().UnixNano())
			}
			fmt.Printf(
				`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"say","inputSchema":{"type":"object"}}]%s}}`+"\n",
				req.ID, next)
			if mode == "deaf" {
				// It reads nothing more, and keeps running after its input was closed. A timer,
				// because the runtime ends a process in which nothing can happen.
				<-time.After(24 * time.Hour)
			}
		}
	}
}

// reaped reports whether nothing at all is left of a process.
func reaped(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	if reaped(pid) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	for i := len(stat) - 1; i > 0; i-- {
		if stat[i] == ')' {
			return stat[i+2] != 'Z'
		}
	}
	return true
}
