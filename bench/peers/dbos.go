package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // for databases in files
)

// dbosEngine is DBOS on the database at url, or on a database in a file if url is "".
type dbosEngine struct{ title, url string }

func (d dbosEngine) name() string { return d.title }

func (d dbosEngine) open(ctx context.Context, w *workload, dir string) (
	func(context.Context) error, func() error, error) {
	if !w.durable {
		return nil, nil, nil
	}
	url := d.url
	if url == "" {
		url = "sqlite:" + filepath.Join(dir, "dbos.db")
	}
	c, err := dbos.NewContext(ctx, dbos.Config{AppName: "hocket-peers", DatabaseURL: url,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, err
	}
	dbos.RegisterWorkflow(c, tenSteps)
	if err := dbos.Launch(c); err != nil {
		return nil, nil, err
	}
	return func(context.Context) error {
		h, err := dbos.RunWorkflow(c, tenSteps, 0)
		if err != nil {
			return err
		}
		n, err := h.GetResult()
		if err == nil && n != manyNodes {
			err = fmt.Errorf("the workflow counted %d steps", n)
		}
		return err
	}, func() error { return dbos.Shutdown(c, 10*time.Second) }, nil
}

// tenSteps is the durable chain of n steps.
func tenSteps(c dbos.Context, n int) (int, error) {
	for range manyNodes {
		m, err := dbos.RunAsStep(c, func(context.Context) (int, error) { return 1, nil })
		if err != nil {
			return 0, err
		}
		n += m
	}
	return n, nil
}
