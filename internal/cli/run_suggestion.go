package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/journal"
)

// minIDPrefix is the minimum number of characters of an id that must be typed before a run is
// guessed from them.
const minIDPrefix = 4

// notFound returns the error for a run that does not exist, with the newest run that was probably
// meant, if any. Other errors are returned unchanged.
func (a *app) notFound(ctx context.Context, s stateReader, err error, run string) error {
	if !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	where := "in this store"
	if a.server != "" {
		where = "on this server"
	}
	if lines, err := list(ctx, s, journal.Query{}, maxOffered); err == nil {
		ids := make([]string, len(lines))
		for i, l := range lines {
			ids[i] = l.ID
		}
		if id := suggestID(run, ids); id != "" {
			return usageErrorf("run %s not found %s; did you mean %s?", quote(run), where, quote(id))
		}
	}
	return usageErrorf("run %s not found %s; see hocket runs", quote(run), where)
}

// suggestID returns the id that typed is a part or a misspelling of, or "" if there is none or if
// several are equally likely.
func suggestID(typed string, ids []string) string {
	if len(typed) < minIDPrefix {
		return ""
	}
	var hits []string
	for _, id := range ids {
		if strings.Contains(strings.ToLower(id), strings.ToLower(typed)) {
			hits = append(hits, id)
		}
	}
	switch len(hits) {
	case 0:
		return diag.Suggest(typed, ids)
	case 1:
		return hits[0]
	}
	return ""
}

// topics maps words that people ask help for and that are not verbs to the page about them.
var topics = map[string]string{
	"api": "api", "http": "api", "rest": "api", "openapi": "api", "budget": "budgets", "budgets": "budgets",
	"cost": "budgets", "costs": "budgets",
	"price": "budgets", "prices": "budgets", "catalog": "catalog", "config": "configuration",
	"configuration": "configuration",
	"hocket.yaml":   "configuration", "secrets": "configuration", "events": "events", "sse": "events",
	"limits": "limits",
	"openai": "openai",
	"otel":   "telemetry", "telemetry": "telemetry", "tracing": "telemetry", "metrics": "telemetry", "tools": "tools",
	"toolsets":    "tools",
	"permissions": "tools", "graphs": "graphs", "go": "graphs", "embedding": "graphs", "docs": "README",
	"examples": "README", "formats": "README",
}
