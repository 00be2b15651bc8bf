package adapter

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// WithoutRefusedTools returns a client that leaves out the tools whose definitions the server
// refuses. If the server names one before it answers, the call is made again without it, and later
// calls do not offer it to that model. The first reply in a conversation without the tool has a
// warning.
func WithoutRefusedTools(c model.Client) model.Client {
	return &withoutTools{client: c, refused: map[[sha256.Size]byte]string{}}
}

type withoutTools struct {
	client model.Client

	mu      sync.Mutex
	refused map[[sha256.Size]byte]string // reasons, by toolKey; at most maxRefused
}

// maxRefused is the maximum number of refused tools that are remembered. Beyond it, all are
// forgotten, and refused once more.
const maxRefused = 1000

func toolKey(name string, d chat.ToolDef) [sha256.Size]byte {
	return sha256.Sum256([]byte(name + "\x00" + d.Name + "\x00" + d.Description + "\x00" + string(d.Parameters)))
}

// Call implements model.Client.
func (w *withoutTools) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	begins := !slices.ContainsFunc(req.Messages, func(m chat.Message) bool { return m.Role == chat.RoleAssistant })
	all, key := req.Tools, req.IdempotencyKey
	for again := 0; ; again++ {
		var left []string
		req.Tools, left = w.offered(req.Model, all)
		if again > 0 && key != "" { // the refusal may be stored under the former key
			req.IdempotencyKey = fmt.Sprintf("%s/tools/%d", key, again)
		}
		watched, started := watch(onDelta)
		reply, err := w.client.Call(ctx, req, watched)
		failed := refusal(err, *started)
		names := refusedTools(req.Tools, failed)
		if len(names) == 0 || again == len(all) { // more refusals only if one was forgotten
			if err == nil && len(left) > 0 && (begins || again > 0) {
				reply.Warning = strings.TrimPrefix(reply.Warning+"; "+strings.Join(left, "; "), "; ")
			}
			return reply, err
		}
		w.refuse(req.Model, req.Tools, names, failed.Message)
	}
}

// offered returns the tools that the server has not refused, and the reasons why the others are
// left out.
func (w *withoutTools) offered(name string, tools []chat.ToolDef) (out []chat.ToolDef, left []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refused) == 0 {
		return tools, nil
	}
	for _, d := range tools {
		if why, ok := w.refused[toolKey(name, d)]; ok {
			left = append(left, fmt.Sprintf("the tool %q was not offered, because the server refuses its "+
				"definition: %s", d.Name, why))
			continue
		}
		out = append(out, d)
	}
	return out, left
}

func (w *withoutTools) refuse(name string, tools []chat.ToolDef, names []string, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range tools {
		if slices.Contains(names, d.Name) {
			if len(w.refused) >= maxRefused {
				clear(w.refused)
			}
			w.refused[toolKey(name, d)] = reason
		}
	}
}

// The ways in which servers name a tool: by its place in the request, or by its name.
var (
	toolPlace = regexp.MustCompile(`(?:^|[^a-zA-Z0-9_])tools(?:\[(\d+)\]|\.(\d+)\b|["'], ?(\d+)\b)` +
		`(?:\.function_?[dD]eclarations\[(\d+)\])?`)
	toolName = regexp.MustCompile("(?:schema|parameters|definition)[a-z ]* (?:for|of) (?:function|tool)[: ]+" +
		"['\"`]?([a-zA-Z0-9_-]+)")
)

// refusedTools returns the names of the tools whose definitions are the reason of a failure.
func refusedTools(tools []chat.ToolDef, failed *model.Error) []string {
	if failed == nil || failed.Kind != model.KindInvalidRequest {
		return nil
	}
	var names []string
	for _, m := range toolName.FindAllStringSubmatch(failed.Message, -1) {
		if slices.ContainsFunc(tools, func(d chat.ToolDef) bool { return d.Name == m[1] }) {
			names = append(names, m[1])
		}
	}
	if names != nil {
		return names
	}
	for _, m := range toolPlace.FindAllStringSubmatch(failed.Message, -1) {
		place := m[1] + m[2] + m[3]
		if m[4] != "" {
			place = m[4] // of the functions, which are one tool
		}
		if i, err := strconv.Atoi(place); err == nil && i < len(tools) {
			names = append(names, tools[i].Name)
		}
	}
	return names
}
