package pghome

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
)

// secrets returns what must not appear in any error: the secrets in the URL, and the password from
// elsewhere.
func (t target) secrets() []string {
	out := t.url.Secrets()
	for _, c := range []*pgx.ConnConfig{t.conn, t.session} {
		if c != nil && c.Password != "" {
			out = append(out, c.Password)
		}
	}
	return out
}

// causeOf returns the message of the server or the system as the cause of an error.
func (t target) causeOf(err error) error {
	text := err.Error()
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		text = e.Message
	}
	line, _, _ := strings.Cut(text, "\n")
	return errors.New(scrub(line, t.secrets()))
}

// explain adds a code to a connection error. It returns the error of ctx if ctx ended the attempt. If
// the URL has several servers that failed for different reasons, the cause names the reason of each.
func (t target) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	all := t.explainHost(t.host(), err)
	if !strings.Contains(t.host(), ",") {
		return all
	}
	last := map[string]error{} // by server, because several tries of a server may have failed
	codes := map[errcode.Code]bool{}
	var order []string
	for _, e := range attempts(err) {
		at := address(e)
		if last[at] == nil {
			order = append(order, at)
		}
		last[at] = t.explainHost(at, e)
	}
	for i, at := range order {
		code, _ := errcode.Of(last[at])
		codes[code] = true
		order[i] = last[at].Error()
	}
	if len(codes) < 2 {
		return all
	}
	return errcode.New(errcode.StoreConnection, errcode.Fields{"host": t.host()},
		errors.New(scrub(strings.Join(order, "; "), t.secrets())))
}

// attempts returns the errors of the servers that were tried.
func attempts(err error) []error {
	for err != nil {
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			return several.Unwrap()
		}
		next := errors.Unwrap(err)
		if next == nil {
			break
		}
		if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok {
			break // the error of one server
		}
		err = next
	}
	return nil
}

// address returns the address or the name of the server that an error of [attempts] is about. pgx has
// the address only in the text: `127.0.0.1:5432 (localhost): dial error`.
func address(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.Name
	}
	at, _, _ := strings.Cut(err.Error(), " (")
	return at
}

// explainHost adds a code to the error of a connection to host.
func (t target) explainHost(host string, err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return t.explainServer(host, e)
	}
	dns, isDNS := errors.AsType[*net.DNSError](err)
	cert, isCert := errors.AsType[*tls.CertificateVerificationError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isDNS && dns.IsNotFound:
		return errcode.New(errcode.StoreHostUnknown, errcode.Fields{"host": dns.Name}, nil)
	case isCert:
		return errcode.New(errcode.StoreTLSUntrusted, errcode.Fields{"host": host}, t.causeOf(cert.Err))
	case slices.Contains([]string{"require", "verify-ca", "verify-full"}, t.mode()) &&
		strings.Contains(err.Error(), "server refused TLS connection"):
		// pgx has no error value for it
		return errcode.New(errcode.StoreTLSMissing, errcode.Fields{"host": host, "mode": t.mode()}, nil)
	case errors.Is(err, pgconn.ErrReadOnlyConnection), errors.Is(err, pgconn.ErrStandbyConnection):
		return errcode.New(errcode.StoreReadOnly,
			errcode.Fields{"host": host, "why": "it is a replica, or default_transaction_read_only is on"}, nil)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.Errno(10061)), errors.Is(err, os.ErrNotExist):
		// WSAECONNREFUSED on Windows
		return errcode.New(errcode.StoreRefused, errcode.Fields{"host": host}, nil)
	case pgconn.Timeout(err), isNet && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errcode.New(errcode.StoreSilent, errcode.Fields{"host": host}, nil)
	}
	inner := err
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		inner = e.Unwrap()
	}
	return errcode.New(errcode.StoreConnection, errcode.Fields{"host": host}, t.causeOf(inner))
}

// mode returns the effective sslmode.
func (t target) mode() string {
	if m := t.url.Setting("sslmode"); m != "" {
		return m
	}
	return os.Getenv("PGSSLMODE")
}

// explainServer adds a code to an error of the server.
func (t target) explainServer(host string, e *pgconn.PgError) error {
	user, database := t.conn.User, t.conn.Database
	if database == "" {
		database = user
	}
	switch e.Code {
	case "28P01": // invalid_password
		return errcode.New(errcode.StorePassword, errcode.Fields{"host": host, "user": user}, nil)
	case "28000": // invalid_authorization_specification
		if strings.Contains(e.Message, "no encryption") || strings.Contains(e.Message, "SSL off") {
			return errcode.New(errcode.StoreTLSDemanded, errcode.Fields{"host": host}, nil)
		}
		return errcode.New(errcode.StoreUserRejected, errcode.Fields{"host": host, "user": user, "database": database},
			t.causeOf(e))
	case "3D000": // invalid_catalog_name
		return errcode.New(errcode.StoreDatabaseMissing, errcode.Fields{"host": host, "database": database}, nil)
	case "42501": // insufficient_privilege
		return errcode.New(errcode.StoreNoRight, errcode.Fields{
			"user": user, "database": database, "action": "connect", "grant": "GRANT CONNECT ON DATABASE " +
				quote(database) + " TO " + quote(user),
		}, nil)
	case "53300": // too_many_connections
		return errcode.New(errcode.StoreFull, errcode.Fields{"host": host}, t.causeOf(e))
	}
	return errcode.New(errcode.StoreConnection, errcode.Fields{"host": host}, t.causeOf(e))
}

// explainOpen adds a code to an error of opening the store, if this package has one for it. Other
// errors, such as *journal.NewerError, are returned unchanged.
func (t target) explainOpen(s server, err error) error {
	e, isServer := errors.AsType[*pgconn.PgError](err)
	_, isConnect := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case errors.Is(err, journal.ErrNotStore):
		return errcode.New(errcode.StoreForeign, errcode.Fields{"schema": t.url.Schema(), "database": s.database}, err)
	case isServer && e.Code == "42501":
		return t.noTables(s)
	case isServer && (e.Code == "53300" || strings.HasPrefix(e.Code, "28")):
		return t.explainServer(t.host(), e)
	case isConnect:
		return t.explain(context.Background(), err)
	}
	return err
}
