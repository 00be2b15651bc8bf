package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/pgtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// schema is the schema of the measured stores.
const schema = "hocket_scale"

func run(ctx context.Context, args []string, out, problems io.Writer) (err error) {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	flags.SetOutput(problems)
	db := flags.String("db", "", "`URL` of a PostgreSQL database for a superuser; default: a server is started")
	runs := flags.Int("runs", 200, "runs of each kind")
	only := flags.String("kind", "", "measure only this kind of run")
	retention := flags.Int("retention", 0,
		"measure how this many `runs` are deleted, in steps and by dropping partitions")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *runs < 1 || *retention < 0:
		return errors.New("the numbers of runs must be positive")
	}
	s, err := open(ctx, *db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if *retention > 0 {
		return measureRetention(ctx, s, *retention, out)
	}
	return measureCosts(ctx, s, *only, *runs, out, problems)
}

// server is the PostgreSQL server being measured.
type server struct {
	url   string    // for Hocket, including the schema
	admin *pgx.Conn // connection of a superuser
	own   *pgtest.Server
}

// settings are those of a small dedicated server; the tests' server uses as little memory as
// possible.
var settings = map[string]string{"shared_buffers": "512MB", "max_wal_size": "4GB", "checkpoint_timeout": "15min"}

// open connects to the server at URL db, or starts one.
func open(ctx context.Context, db string) (*server, error) {
	s := &server{}
	admin := db
	if db == "" {
		own, err := pgtest.New(pgtest.Config{Settings: settings})
		if err != nil {
			return nil, err
		}
		s.own, s.url, admin = own, own.Address(schema), own.Superuser(pgtest.Name)
	} else {
		u, err := url.Parse(db)
		if err != nil {
			return nil, errors.New("-db is no URL of a PostgreSQL database")
		}
		q := u.Query()
		q.Set("schema", schema)
		u.RawQuery = q.Encode()
		s.url = u.String()
	}
	c, err := pgx.Connect(ctx, admin)
	if err == nil {
		s.admin = c
		err = s.drop(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// drop removes the schema.
func (s *server) drop(ctx context.Context) error {
	_, err := s.admin.Exec(ctx, "SET client_min_messages = error; DROP SCHEMA IF EXISTS "+schema+" CASCADE")
	return err
}

func (s *server) close() error {
	var err error
	if s.admin != nil {
		ctx := context.Background()
		err = errors.Join(s.drop(ctx), s.admin.Close(ctx))
	}
	if s.own != nil {
		s.own.Close()
	}
	return err
}
