package run_test

import (
	"context"
	"errors"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/checkpoint"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/tool/memory"
)

// servers opens stores whose journal is in PostgreSQL. Runs that are killed need nothing else of a store.
var servers = store.Servers{Postgres: journalKind{}}

type journalKind struct{}

func (journalKind) Open(ctx context.Context, at store.Locator, cfg store.Config) (*store.Home, error) {
	s, err := postgres.Open(ctx, postgres.Config{URL: at.String(), Kind: cfg.Kind})
	if err != nil {
		return nil, err
	}
	parts := store.Parts{Journal: s, Catalog: &catalog.Memory{}, Access: &access.Memory{}, Hooks: &hookdata.Memory{}, Checkpoints: &checkpoint.Memory{}, Memories: &memory.Kept{}}
	noKey := func() ([]byte, error) { return nil, errors.New("no key") }
	return store.New(at, parts, noKey, func() []store.Size { return nil }), nil
}

func (journalKind) Look(context.Context, store.Locator) (store.View, error) {
	return store.View{Exists: true}, nil
}
