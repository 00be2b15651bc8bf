package accessdb

import (
	"github.com/hocket-run/hocket/internal/access"
	db "github.com/hocket-run/hocket/internal/store/sqlite"
)

// token reads a row of access_tokens. A role that is none may do nothing, so a damaged row opens no transport.
func token(c []any) access.Token {
	return access.Token{
		ID: db.String(c[0]), Name: db.String(c[1]), Namespace: db.String(c[2]), Role: access.Role(db.String(c[3])), Approve: db.Int(c[4]) == 1,
		Created: db.Time(c[5]), Expires: db.Time(c[6]), Used: db.Time(c[7]),
	}
}

// number gives the only column of the only row of q.
func number(tx db.Tx, q db.Text, args ...any) (n int64, err error) {
	err = tx.Query(q, func(c []any) error {
		n = db.Int(c[0])
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
