package access

import (
	"context"
	"math"
	"strconv"
	"time"
)

// Store stores tokens by namespace. All methods except Find, which is passed the token's hash,
// access only the tokens of one namespace (SEC10). It is safe for concurrent use; writes are
// durable when a call returns.
type Store interface {
	// Add stores a token by its hash, and creates its namespace if it does not exist. t is not
	// validated. It returns a *LimitError or errors from the store.
	Add(ctx context.Context, t Token, h Hash) error
	// Find returns the token with a hash, expired or not. It returns ErrUnknownToken or errors from
	// the store.
	Find(ctx context.Context, h Hash) (Token, error)
	// Get returns a token of a namespace, expired or not. It returns ErrUnknownToken or errors from
	// the store.
	Get(ctx context.Context, namespace, id string) (Token, error)
	// List returns the tokens of a namespace, oldest first; none if there is no such namespace.
	List(ctx context.Context, namespace string) ([]Token, error)
	// Revoke deletes a token, and returns it. It returns ErrNone, including for a token of another
	// namespace, or errors from the store.
	Revoke(ctx context.Context, namespace, id string) (Token, error)
	// Touch records when a token was used. It has no effect if the time is earlier than the
	// recorded one, or if the token does not exist.
	Touch(ctx context.Context, namespace, id string, at time.Time) error
	// Namespaces returns the names of all namespaces, sorted. DefaultNamespace is always included;
	// other namespaces exist forever once they have had a token.
	Namespaces(ctx context.Context) ([]string, error)
}

// Log records who did what, by namespace. It is safe for concurrent use; records are durable when a
// call returns.
type Log interface {
	// Record appends a record to its namespace's log, or, if r.ID is not 0, replaces the record
	// with that ID of its namespace, if it still exists. Strings are truncated to MaxText bytes.
	// The oldest record is deleted once there are more than the store's maximum, which is
	// MaxRecords unless the store specifies another. Records of one namespace do not displace those
	// of another.
	Record(ctx context.Context, r Record) error
	// Intend appends a record with the outcome OutcomeUnknown, before the action, and returns its
	// ID, with which Record replaces it. r.ID and r.Outcome are ignored.
	Intend(ctx context.Context, r Record) (id int64, err error)
	// Records returns a page of a namespace's records, newest first. It returns an *InvalidError
	// for an invalid cursor, or errors from the store.
	Records(ctx context.Context, q Query) (Page, error)
}

// Limits of the audit log.
const (
	// MaxRecords is how many records are kept per namespace.
	MaxRecords = 100_000
	// MaxText is the maximum size of each string of a record, in bytes.
	MaxText = 512
	// MaxPage is the maximum number of records in a page.
	MaxPage = 200
	// DefaultPage is the page size of a query without a limit.
	DefaultPage = 50
)

// ActorLocal is the actor who uses the store without a server.
const ActorLocal = "local"

// ChannelCLI is the channel of the command line.
const ChannelCLI = "cli"

// Record describes one request that changed something, or attempted to.
type Record struct {
	// ID numbers the records of a namespace, from 1, without gaps. It is assigned by the store.
	ID int64
	// At is when the request ended, UTC, in microseconds.
	At        time.Time
	Namespace string
	// Token is the id of the token that was presented, empty if there was none. Actor is its name,
	// ActorLocal, or the name of the endpoint that an approve link was sent to.
	Token string
	Actor string
	// Channel is the entry point: `cli`, `http`, `mcp`, `openai`, `link` or `hooks`.
	Channel string
	// Action is what was done, such as `tokens create` or the method and pattern of a route; Target
	// is the affected object, as the caller named it.
	Action string
	Target string
	// Outcome is `ok`, the code of the problem, or `unknown` until the action has ended: the
	// process that recorded it may have died, or lost the store.
	Outcome string
	// Request is the id of the request in the server's log; Remote is the client address. Both are
	// empty for the command line.
	Request string
	Remote  string
}

// Outcomes that are not codes of problems.
const (
	OutcomeOK      = "ok"
	OutcomeUnknown = "unknown"
)

// By returns the record with the actor and the namespace of a principal.
func (r Record) By(p Principal) Record {
	r.Namespace, r.Token, r.Actor = p.Namespace, p.Token, p.Name
	return r
}

// Clean returns the record as stores keep it. It is for use by stores.
func (r Record) Clean() Record {
	r.At = r.At.UTC().Truncate(time.Microsecond)
	for _, text := range []*string{&r.Namespace, &r.Token, &r.Actor, &r.Channel, &r.Action, &r.Target, &r.Outcome,
		&r.Request, &r.Remote} {
		*text = truncate(*text, MaxText)
	}
	return r
}

// Query selects a page of records.
type Query struct {
	Namespace string
	// Since excludes earlier records; zero excludes none.
	Since time.Time
	// Limit is 1 to MaxPage; 0 means DefaultPage. Other values are clamped to that range.
	Limit int
	// Cursor is Page.Next of the previous page; "" means the first page.
	Cursor string
}

// Page is part of a query's result.
type Page struct {
	// Items is never nil.
	Items []Record
	// Next is empty on the last page.
	Next string
}

// Bounds returns the records that a query selects in the terms of stores: at most limit of those
// with an id less than before. It returns an *InvalidError if the query is invalid.
func (q Query) Bounds() (before int64, limit int, err error) {
	limit = min(max(q.Limit, 1), MaxPage)
	if q.Limit == 0 {
		limit = DefaultPage
	}
	if q.Cursor == "" {
		return math.MaxInt64, limit, nil
	}
	before, err = strconv.ParseInt(q.Cursor, 10, 64)
	if err != nil || before < 1 || strconv.FormatInt(before, 10) != q.Cursor {
		return 0, 0, invalidf("not a cursor of the audit log")
	}
	return before, limit, nil
}

// PageOf returns the page for the records that a store found for [Query.Bounds], fetched with one
// more than the limit, newest first.
func PageOf(found []Record, limit int) Page {
	p := Page{Items: found}
	if p.Items == nil {
		p.Items = []Record{}
	}
	if len(found) > limit {
		p.Items = found[:limit]
		p.Next = strconv.FormatInt(found[limit-1].ID, 10)
	}
	return p
}
