package mcpserver

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// maxWatched is the maximum number of resources that the sessions of a principal may subscribe to
// (SEC17).
const maxWatched = 1000

// watched is a resource with subscribers.
type watched struct {
	state string // the last state seen
	by    map[string]bool
}

// startWatching starts to watch the account's lists and subscriptions, for as long as it has
// requests in progress: without them no client can be notified, and the namespace may be closed. It
// returns false if they are watched already. The caller holds Server.mu.
func (d *account) startWatching() bool {
	if d.watching || d.server.ctx.Err() != nil {
		return false
	}
	d.watching = true
	d.server.work.Go(func() {
		tick := time.NewTicker(d.server.cfg.LookEvery)
		defer tick.Stop()
		for {
			select {
			case <-d.server.ctx.Done():
				return
			case <-tick.C:
			case <-d.wake:
			}
			if d.isIdle() {
				return
			}
			d.watchOnce()
		}
	})
	return true
}

// isIdle reports whether the account has no request in progress, in which case it is no longer
// watched.
func (d *account) isIdle() bool {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	if d.busy > 0 {
		return false
	}
	d.watching = false
	if d.sessions() == 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		clear(d.watched)
	}
	return true
}

// watchOnce looks for changes once. The request in progress keeps the namespace open.
func (d *account) watchOnce() {
	ctx, cancel := context.WithCancel(d.server.ctx)
	defer cancel()
	ctx, err := d.with(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.server.log.Warn("watch workflows for MCP clients", "error", err)
		}
		return
	}
	d.checkChanges(ctx)
}

// changed makes all accounts of the namespace check for changes immediately.
func (d *account) changed() {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	for key, other := range d.server.accounts {
		if key.Namespace == d.key.Namespace {
			select {
			case other.wake <- struct{}{}:
			default: // a check is already pending
			}
		}
	}
}

// checkChanges compares the current state with what clients know, and notifies them of changes. ctx
// carries the caller.
func (d *account) checkChanges(ctx context.Context) {
	d.checking.Lock()
	defer d.checking.Unlock()
	entries, err := transport.From(ctx).Service.Visible(ctx, d.key.May(access.RoleEdit))
	if err != nil {
		if ctx.Err() == nil {
			d.server.log.Warn("watch workflows for MCP clients", "error", err)
		}
		return
	}
	var all strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&all, "%q %q %d %d %d\n", e.ID, e.Name, e.Published, e.Draft, e.Updated.UnixMicro())
	}
	d.mu.Lock()
	isNew := d.seen != all.String()
	d.seen = all.String()
	d.mu.Unlock()
	if isNew {
		d.updateTools(ctx, entries)
		d.addLists() // this notifies clients that resources have changed
	}
	for _, uri := range d.subscriptions() {
		now := d.state(ctx, uri)
		d.mu.Lock()
		one := d.watched[uri]
		isNew := one != nil && one.state != now
		if isNew {
			one.state = now
		}
		d.mu.Unlock()
		if isNew {
			_ = d.mcp.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // it cannot fail
		}
	}
}

// subscriptions returns the watched resources. Subscriptions of ended sessions are removed.
func (d *account) subscriptions() []string {
	open := map[string]bool{}
	for s := range d.mcp.Sessions() {
		open[s.ID()] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]string, 0, len(d.watched))
	for uri, one := range d.watched {
		maps.DeleteFunc(one.by, func(session string, _ bool) bool { return !open[session] })
		if len(one.by) == 0 {
			delete(d.watched, uri)
			continue
		}
		out = append(out, uri)
	}
	return out
}

// state returns a string that changes with the content of a resource, without reading the resource.
func (d *account) state(ctx context.Context, uri string) string {
	r, ok := parseURI(uri)
	if !ok {
		return ""
	}
	switch {
	case r.kind == kindRuns && r.id != "":
		h, err := transport.From(ctx).Service.Head(ctx, r.id)
		return fmt.Sprint(h.LastSeq, h.Status, h.Interrupted, err != nil)
	case r.kind == kindWorkflows && r.id != "":
		e, err := transport.From(ctx).Service.Entry(ctx, r.id)
		return fmt.Sprint(e.Published, e.Updated.UnixMicro(), err != nil)
	case r.kind == kindAgents && r.id != "":
		row, err := agentRow(ctx, transport.From(ctx).Service, r.id)
		return fmt.Sprint(row, err != nil)
	}
	text, _, err := d.read(ctx, r)
	return fmt.Sprint(etag(text), err != nil)
}

func (d *account) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	ctx, _, err := d.require(ctx, access.RoleRun)
	if err != nil {
		return err
	}
	uri := req.Params.URI
	r, ok := parseURI(uri)
	if !ok {
		return sdk.ResourceNotFoundError(uri)
	}
	if _, _, err := d.read(ctx, r); err != nil {
		return d.unread(uri, err)
	}
	now := d.state(ctx, uri)
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.watched[uri]
	switch {
	case one == nil && len(d.watched) >= maxWatched:
		return fmt.Errorf("at most %d resources can be subscribed to (max_mcp_subscriptions); unsubscribe from "+
			"some first", maxWatched)
	case one == nil:
		one = &watched{now, map[string]bool{}}
		d.watched[uri] = one
	}
	one.by[req.Session.ID()] = true
	return nil
}

// unsubscribe records that a session no longer watches a resource. The SDK knows which sessions to
// notify.
func (d *account) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.watched[req.Params.URI]; one != nil {
		if delete(one.by, req.Session.ID()); len(one.by) == 0 {
			delete(d.watched, req.Params.URI)
		}
	}
	return nil
}
