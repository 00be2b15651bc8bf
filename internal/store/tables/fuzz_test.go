package tables_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables"
	"github.com/hocket-run/hocket/internal/store/tables/accessdb"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
	"github.com/hocket-run/hocket/internal/store/tables/checkpointdb"
	"github.com/hocket-run/hocket/internal/store/tables/hookdb"
	"github.com/hocket-run/hocket/internal/store/tables/memorydb"
	"github.com/hocket-run/hocket/internal/tool/memory"
)

// home is everything that a store contains.
type home struct {
	journal     journal.Backend
	catalog     *catalogdb.Store
	access      *accessdb.Store
	hooks       *hookdb.Store
	checkpoints *checkpointdb.Store
	memories    *memorydb.Store
}

func homes(t testing.TB) (file, server home) {
	t.Helper()
	f, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hocket.db"), sqlite.Config{Kind: journal.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	p, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t), Kind: journal.KindRun})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = f.Close(), p.Close() })
	return home{f, catalogdb.New(f), accessdb.New(f), hookdb.New(f), checkpointdb.New(f), memorydb.New(f)}, home{
		p, catalogdb.New(p.Tables(postgres.Catalog)), accessdb.New(p.Tables(postgres.Access)),
		hookdb.New(p.Tables(postgres.Hooks)),
		checkpointdb.New(p.Tables(postgres.Checkpoints)), memorydb.New(p.Tables(postgres.Memories)),
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// uses are the places that can contain a text. Each stores the text, and returns what is read back.
// id is unique to this use.
var uses = map[string]func(ctx context.Context, h home, id, text string) (any, error){
	"run": func(ctx context.Context, h home, id, text string) (any, error) {
		run := text + id
		err := h.journal.Append(ctx, journal.Append{
			Run: run, At: noon, Status: journal.StatusRunning,
			Record: journal.Record{First: 1, Last: 1, Data: []byte(text)},
			Create: &journal.NewRun{Workflow: text, WorkflowName: text, Format: text, Parent: text, Session: run,
				Kind: journal.KindRun, Created: noon, Meta: map[string]string{"k": text}},
		})
		if err != nil {
			return nil, err
		}
		head, err := h.journal.Head(ctx, run)
		if err != nil {
			return nil, err
		}
		named, _, err := h.journal.List(ctx, journal.Query{Workflow: text, Prefix: run, Parent: text, Session: run})
		return []any{head.Run, head.NewRun, len(named)}, err
	},
	"request": func(ctx context.Context, h home, id, text string) (any, error) {
		run := "q" + id
		if err := h.journal.Append(ctx, journal.Append{
			Run: run, At: noon, Status: journal.StatusRunning, Record: journal.Record{First: 1, Last: 1,
				Data: []byte("x")}, Create: &journal.NewRun{Kind: journal.KindRun, Created: noon},
		}); err != nil {
			return nil, err
		}
		if _, err := h.journal.Post(ctx, journal.Request{Run: run, Kind: text, Data: []byte(text),
			At: noon}); err != nil {
			return nil, err
		}
		taken, err := h.journal.Take(ctx)
		if err != nil || len(taken) != 1 {
			return len(taken), err
		}
		if err := h.journal.Settle(ctx, taken[0].ID, []byte(text)); err != nil {
			return nil, err
		}
		result, done, err := h.journal.Result(ctx, taken[0].ID)
		return []any{taken[0].Kind, taken[0].Data, string(result), done}, err
	},
	"schedule": func(ctx context.Context, h home, id, text string) (any, error) {
		r := journal.Registration{ScheduleKey: journal.ScheduleKey{Workflow: text + id, Branch: text, Schedule: text},
			Mode: text, Spec: text, TimeZone: text, Run: text, Registered: noon, Refusal: text}
		if err := h.journal.Register(ctx, r); err != nil {
			return nil, err
		}
		all, err := h.journal.Registrations(ctx)
		return all, errors.Join(err, h.journal.Unregister(ctx, r.ScheduleKey))
	},
	"workflow": func(ctx context.Context, h home, id, text string) (any, error) {
		st, err := h.catalog.Put(ctx, []catalog.Put{{ID: id + text, Format: "steps", Name: text, File: text,
			Digest: text, Text: []byte(text), At: noon}}, nil)
		if err != nil {
			return nil, err
		}
		v, err := h.catalog.Version(ctx, id+text, 1)
		return []any{st, v}, errors.Join(err, h.catalog.Delete(ctx, id+text, ""))
	},
	"rows": func(ctx context.Context, h home, id, text string) (any, error) {
		rows := &catalog.Rows{
			Workflow: catalog.Row{id, text, text, int64(0), text, text, text, nil, nil, text},
			Nodes:    []catalog.Row{{text, id, text, text, text, text}},
			Edges:    []catalog.Row{{text, id, text, text, text, text}},
		}
		if _, err := h.catalog.Put(ctx, []catalog.Put{{ID: id, Format: catalog.FormatRoutes, Text: []byte("x"),
			At: noon, Rows: rows}}, nil); err != nil {
			return nil, err
		}
		return h.catalog.Rows(ctx, id)
	},
	"agent": func(ctx context.Context, h home, id, text string) (any, error) {
		if err := h.catalog.PutAgents(ctx, []catalog.Row{{id + text, text, text, text, text, text, text}}, false,
			nil); err != nil {
			return nil, err
		}
		all, err := h.catalog.Agents(ctx)
		return all, errors.Join(err, h.catalog.DeleteAgent(ctx, catalog.Row{id + text}.Normal().ID(), "", nil))
	},
	"audit": func(ctx context.Context, h home, id, text string) (any, error) {
		if err := h.access.Record(ctx, access.Record{At: noon, Namespace: id, Actor: text, Action: text, Target: text,
			Request: text, Remote: text, Channel: "http", Outcome: "ok"}); err != nil {
			return nil, err
		}
		return h.access.Records(ctx, access.Query{Namespace: id})
	},
	"webhook": func(ctx context.Context, h home, id, text string) (any, error) {
		if _, err := h.hooks.SetWebhook(ctx, id, func(w *hookdata.Webhook) error {
			*w = hookdata.Webhook{Path: id + text, Name: text, Workflow: "w", Created: noon}
			return nil
		}); err != nil {
			return nil, err
		}
		return h.hooks.Webhook(ctx, hookdata.Webhook{Path: id + text}.Digest())
	},
	"notification": func(ctx context.Context, h home, id, text string) (any, error) {
		at, _, err := h.hooks.Cursor(ctx)
		if err != nil {
			return nil, err
		}
		n := hookdata.Notification{ID: id, Endpoint: "e", Run: text + id, Wait: text, Body: []byte(text),
			State: hookdata.StatePending, Made: noon, Due: noon, Error: text}
		if err := h.hooks.Post(ctx, at, at+1, []hookdata.Notification{n}); err != nil {
			return nil, err
		}
		taken, err := h.hooks.Take(ctx, noon, noon.Add(time.Hour), 10, []string{text})
		if err != nil {
			return nil, err
		}
		listed, _, err := h.hooks.Notifications(ctx, hookdata.NotificationQuery{Run: text + id})
		return []any{taken, listed}, err
	},
	"checkpoint": func(ctx context.Context, h home, id, text string) (any, error) {
		state, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		if err := h.checkpoints.Save(ctx, text+id, state, text); err != nil {
			return err.Error(), nil // the same in all stores
		}
		return h.checkpoints.Load(ctx, text+id, text)
	},
	"memory": func(ctx context.Context, h home, id, text string) (any, error) {
		if _, err := h.memories.Add(ctx, text+id, text,
			memory.Entry{Category: text, Text: text, At: noon}); err != nil {
			return nil, err
		}
		all, err := h.memories.All(ctx, text+id)
		for i := range all {
			all[i].ID = ""
		}
		return all, err
	},
	"nowhere": func(ctx context.Context, h home, id, text string) (any, error) {
		id = text + id
		var said []string
		note := func(what string, err error) { said = append(said, fmt.Sprintf("%s: %v", what, err)) }
		_, err := h.journal.Head(ctx, id)
		note("head", err)
		_, err = h.catalog.Entry(ctx, id)
		note("entry", err)
		_, err = h.catalog.Rows(ctx, id)
		note("rows", err)
		_, err = h.catalog.Publish(ctx, catalog.Publication{ID: id, Version: 1, At: noon})
		note("publish", err)
		note("delete", h.catalog.Delete(ctx, id, ""))
		note("delete agent", h.catalog.DeleteAgent(ctx, id, "", nil))
		_, err = h.access.Revoke(ctx, id, id)
		note("revoke", err)
		tokens, err := h.access.List(ctx, id)
		note(fmt.Sprint("tokens ", len(tokens)), err)
		note("touch", h.access.Touch(ctx, id, id, noon))
		page, err := h.access.Records(ctx, access.Query{Namespace: id})
		note(fmt.Sprint("records ", len(page.Items)), err)
		note("delete webhook", h.hooks.DeleteWebhook(ctx, id))
		note("delete endpoint", h.hooks.DeleteEndpoint(ctx, id))
		_, err = h.hooks.Notification(ctx, id)
		note("notification", err)
		_, err = h.hooks.Used(ctx, id)
		note("used", err)
		note("unuse", h.hooks.Unuse(ctx, id))
		note("settle", h.hooks.Settle(ctx, hookdata.Notification{ID: id}))
		note("remove memory", h.memories.Remove(ctx, id, "1"))
		return said, nil
	},
}

// isRefused reports whether a store returned a specific error that explains why it cannot store a
// text.
func isRefused(err error) bool {
	_, isText := errors.AsType[*catalog.TextError](err)
	return isText || tables.IsAbsent(err)
}

// FuzzTexts checks that in every place a text is read back from PostgreSQL as from SQLite, or is
// rejected with a specific error, and that a rejected text leaves the store usable. Only the
// catalog's columns, which other programs read, and texts that are too long for an index are
// rejected.
func FuzzTexts(f *testing.F) {
	var long strings.Builder
	for i := range 100 { // digests, which cannot be compressed
		fmt.Fprintf(&long, "%x", sha256.Sum256([]byte{byte(i)}))
	}
	for _, text := range []string{
		"", " ", "a", "A", "ä", "日本語", "🙂", "\x00", "a\x00b", "\x00\x00", "\xff", "a\xffb", "\xed\xa0\x80", "\xc3",
		"\xf4\x90\x80\x80", "\xc0\x80", "\ufeff", "\ufffe", "\uffff", "\u2028", "e\u0301", "é",
		"'", "''", `"`, "`", "'); DROP TABLE agents; --", "$1", "$$", "?", "%", "_", `\`, `\x41`, `\\x41`, `\000`,
		`E'\x41'`, "NULL", "null", "{}", "{1,2}", "[]", "(1)", "-1", "1e400", "true", "\n", "\r\n", "\t", "\x7f",
		"\x1b[31m",
		strings.Repeat("x", 62), strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("ä", 32),
		strings.Repeat("x", 10_000), long.String()[:3000], long.String(), "hocket", "public", "pg_catalog", "hocket_n1",
	} {
		f.Add(text)
	}
	file, server := homes(f)
	n := 0
	f.Fuzz(func(t *testing.T, text string) {
		n++
		for _, name := range slices.Sorted(maps.Keys(uses)) {
			use := uses[name]
			id := fmt.Sprintf("%s%d", name, n)
			want, failed := use(t.Context(), file, id, text)
			got, err := use(t.Context(), server, id, text)
			if isRefused(err) && failed == nil {
				isCatalog := name == "workflow" || name == "rows" || name == "agent"
				why := err.Error()
				isText := isCatalog && (strings.Contains(why, "NUL") || strings.Contains(why, "UTF-8"))
				if !isText && !strings.Contains(why, "too long for an index") {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if (err == nil) != (failed == nil) {
				t.Errorf("%s: %v; SQLite: %v", name, err, failed)
			} else if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-SQLite +PostgreSQL):\n%s", name, diff)
			}
		}
	})
}
