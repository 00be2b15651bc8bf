package run_test

import (
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// servers opens stores in PostgreSQL.
var servers = store.Servers{Postgres: pghome.New(nil)}
