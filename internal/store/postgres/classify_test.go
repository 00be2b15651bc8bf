package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hocket-run/hocket/internal/store/postgres"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	code := func(c string) error { return fmt.Errorf("append: %w", &pgconn.PgError{Code: c}) }
	for _, tt := range []struct {
		name string
		err  error
		want any
	}{
		{"none", nil, postgres.ClassNone},
		{"an error of a caller", errors.New("enough"), postgres.ClassNone},
		{"a context that is done", context.Canceled, postgres.ClassNone},
		{"serialization failure", code("40001"), postgres.ClassConflict},
		{"deadlock", code("40P01"), postgres.ClassConflict},
		{"the server shuts down", code("57P01"), postgres.ClassLost},
		{"the server starts", code("57P03"), postgres.ClassLost},
		{"connection failure", code("08006"), postgres.ClassLost},
		{"end of the connection", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), postgres.ClassLost},
		{"network", &net.OpError{Op: "read", Err: errors.New("reset")}, postgres.ClassLost},
		{"too many connections", code("53300"), postgres.ClassServer},
		{"disk full", code("53100"), postgres.ClassServer},
		{"input and output", code("58030"), postgres.ClassServer},
		{"read-only", code("25006"), postgres.ClassServer},
		{"data corrupted", code("XX001"), postgres.ClassDamage},
		{"unique violation", code("23505"), postgres.ClassRejected},
		{"undefined table", code("42P01"), postgres.ClassServer},
		{"undefined column", code("42703"), postgres.ClassRejected},
		{"wrong password", code("28P01"), postgres.ClassServer},
		{"no login", code("28000"), postgres.ClassServer},
		{"no right", code("42501"), postgres.ClassServer},
		{"the database is not there", code("3D000"), postgres.ClassServer},
		{"no code", code(""), postgres.ClassRejected},
	} {
		if got := postgres.Classify(tt.err); any(got) != tt.want {
			t.Errorf("%s: class %v, want %v", tt.name, got, tt.want)
		}
	}
}
