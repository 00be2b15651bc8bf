package mcpserver

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// account is the server as one principal sees it: the principal's sessions, and the tools and
// resources that they see. Other principals have their own accounts, so that no session id and no
// notification reaches another principal (SEC10).
type account struct {
	server *Server
	key    accountKey
	own    *service.Service // used if Config.Service is nil
	mcp    *sdk.Server
	http   *sdk.StreamableHTTPHandler

	revoked atomic.Bool

	busy     int  // requests in progress; like watching, guarded by Server.mu
	watching bool // a goroutine watches lists and subscriptions, until there are no requests

	wake chan struct{} // something changed: check now

	checking sync.Mutex // held while changes are looked for

	mu        sync.Mutex
	published map[string]publishedTool // workflows that are tools, by tool name
	seen      string                   // the definitions as clients know them
	watched   map[string]*watched      // resources that clients subscribed to
}

const instructions = `Hocket runs workflows of agents, durably. Create agents (create_agent), then a workflow ` +
	`(create_workflow), then add nodes and edges ` +
	`(update_workflow) and run it (execute_workflow). When a run failed, get_run shows its output, trail and error; ` +
	`get_workflow and get_agent show the ` +
	`configuration; fix it with update_workflow or update_agent. A run continues when a request ends; cancel_run ` +
	`stops it. Approvals are given by people, never by you.`

// versions are the protocol versions that start with a handshake and in which elicitation is a
// request from the server (ADR 26).
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// newAccount returns an account for the caller in ctx.
func newAccount(ctx context.Context, s *Server, key accountKey) *account {
	d := &account{server: s, key: key, own: transport.From(ctx).Service, wake: make(chan struct{}, 1),
		published: map[string]publishedTool{}, watched: map[string]*watched{}}
	d.mcp = sdk.NewServer(&sdk.Implementation{Name: "hocket", Title: "Hocket", Version: s.cfg.Version},
		&sdk.ServerOptions{
			Instructions: instructions, Logger: quiet, Capabilities: &sdk.ServerCapabilities{},
			SupportedProtocolVersions: versions, SubscribeHandler: d.subscribe, UnsubscribeHandler: d.unsubscribe,
			CompletionHandler: d.complete,
		})
	d.mcp.AddReceivingMiddleware(d.lists)
	for _, t := range s.tools {
		d.mcp.AddTool(t.announced(), d.handler(t))
	}
	if s.also != nil {
		s.also(d.mcp)
	}
	d.addResources()
	d.checkChanges(ctx)
	d.http = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return d.mcp }, &sdk.StreamableHTTPOptions{
		Logger: quiet, SessionTimeout: sessionIdle, EventStore: sdk.NewMemoryEventStore(nil),
		MaxRequestBodyBytes: s.cfg.MaxBody,
	})
	return d
}

// sessions returns the number of sessions.
func (d *account) sessions() int {
	n := 0
	for range d.mcp.Sessions() {
		n++
	}
	return n
}

// lists is the middleware for lists that are computed on request: the tools that the caller may
// call, and the resources that exist now.
func (d *account) lists(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch p := req.GetParams().(type) {
		case *sdk.ListResourcesParams:
			return d.listResources(ctx, p)
		default:
		}
		res, err := next(ctx, method, req)
		if l, ok := res.(*sdk.ListToolsResult); ok && err == nil {
			kept := *l
			kept.Tools = nil
			for _, t := range l.Tools {
				if d.mayCall(t.Name) {
					kept.Tools = append(kept.Tools, t)
				}
			}
			return &kept, nil
		}
		return res, err
	}
}

// mayCall reports whether the principal may call a tool.
func (d *account) mayCall(name string) bool {
	for _, t := range d.server.tools {
		if t.name == name {
			return d.key.May(t.role)
		}
	}
	return true // a workflow, which every caller here may run
}

// quiet is the logger for the SDK, which otherwise logs each message.
var quiet = slog.New(slog.DiscardHandler)
