package accessdb

import (
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// token reads a row of access_tokens. An invalid role has no permissions, so a corrupted row grants
// no access.
func token(c []any) access.Token {
	return access.Token{
		ID: tables.String(c[0]), Name: tables.String(c[1]), Namespace: tables.String(c[2]),
		Role: access.Role(tables.String(c[3])), Approve: tables.Int(c[4]) == 1,
		Created: tables.Time(c[5]), Expires: tables.Time(c[6]), Used: tables.Time(c[7]),
	}
}

// number returns the only column of the only row of q.
func number(tx tables.Tx, q tables.Text, args ...any) (n int64, err error) {
	err = tx.Query(q, func(c []any) error {
		n = tables.Int(c[0])
		return nil
	}, args...)
	return n, err
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
