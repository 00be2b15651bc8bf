package sqlite

import (
	"time"

	"github.com/hocket-run/hocket/internal/access"
	db "github.com/hocket-run/hocket/internal/journal/sqlite"
)

// token reads a row of access_tokens. A role that is none may do nothing, so a damaged row opens no door.
func token(c []any) access.Token {
	return access.Token{
		ID: text(c[0]), Name: text(c[1]), Namespace: text(c[2]), Role: access.Role(text(c[3])), Approve: integer(c[4]) == 1,
		Created: instant(c[5]), Expires: instant(c[6]), Used: instant(c[7]),
	}
}

// number gives the only column of the only row of q.
func number(tx db.Tx, q db.Text, args ...any) (n int64, err error) {
	err = tx.Query(q, func(c []any) error {
		n = integer(c[0])
		return nil
	}, args...)
	return n, err
}

func integer(v any) int64 {
	n, _ := v.(int64)
	return n
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// micros is a time as it is stored: 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func instant(v any) time.Time {
	if n := integer(v); n != 0 {
		return time.UnixMicro(n).UTC()
	}
	return time.Time{}
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
