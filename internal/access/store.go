package access

import (
	"context"
	"time"
)

// Store keeps tokens by namespace. All functions but Find, which has the token's own hash, reach the tokens of one namespace alone (SEC10).
// Safe for concurrent use; what was kept is durable when a call returns.
type Store interface {
	// Add keeps a token by the hash of its text, and makes its namespace where there is none. t is taken as it is. Errors: *LimitError; those of the store.
	Add(ctx context.Context, t Token, h Hash) error
	// Find gives the token of a hash, expired or not. Errors: ErrUnknownToken; those of the store.
	Find(ctx context.Context, h Hash) (Token, error)
	// Get gives a token of a namespace, expired or not. Errors: ErrUnknownToken; those of the store.
	Get(ctx context.Context, namespace, id string) (Token, error)
	// List gives the tokens of a namespace, those that were made first before others; none where there is no such namespace.
	List(ctx context.Context, namespace string) ([]Token, error)
	// Revoke forgets a token, and gives it. Errors: ErrNone, also for one of another namespace; those of the store.
	Revoke(ctx context.Context, namespace, id string) (Token, error)
	// Touch notes when a token was used. An earlier time than the one that is noted, and a token that is not there, change nothing.
	Touch(ctx context.Context, namespace, id string, at time.Time) error
	// Namespaces gives the names of all namespaces, sorted. DefaultNamespace is always among them; others are from their first token on, for ever.
	Namespaces(ctx context.Context) ([]string, error)
}

// Log keeps who did what, by namespace. Safe for concurrent use; what was recorded is durable when a call returns.
type Log interface {
	// Record adds a record at the end of its namespace's. r.ID is not read. Texts are cut to MaxText bytes. The oldest record beyond the bound of the store
	// is forgotten: MaxRecords, unless the store says otherwise. Records of one namespace do not push out those of another.
	Record(ctx context.Context, r Record) error
	// Records gives a page of a namespace's records, the newest first. Errors: *InvalidError for a cursor that is none; those of the store.
	Records(ctx context.Context, q Query) (Page, error)
}

// Bounds of the audit log.
const (
	// MaxRecords is how many records are kept of each namespace.
	MaxRecords = 100_000
	// MaxText bounds each text of a record, in bytes.
	MaxText = 512
	// MaxPage bounds the records of a page; DefaultPage is what a query without a limit gets.
	MaxPage, DefaultPage = 200, 50
)

// ActorLocal is the actor of a user of the store without a server.
const ActorLocal = "local"

// ChannelCLI is the channel of the command line.
const ChannelCLI = "cli"

// Record tells of one request that changed something, or was to.
type Record struct {
	// ID counts the records of a namespace, from 1, without gaps. It is the store's to give.
	ID int64
	// At is when it ended, UTC, in microseconds.
	At        time.Time
	Namespace string
	// Token is the id of the token that was shown, empty where there was none; Actor its name, ActorLocal, or the name of the endpoint that an
	// approve link was sent to.
	Token string
	Actor string
	// Channel is the way in: `cli`, `http`, `mcp`, `openai`, `link` or `hooks`.
	Channel string
	// Action is what was done, such as `tokens create` or the method and pattern of a route; Target is to what, as the caller named it.
	Action string
	Target string
	// Outcome is `ok`, or the code of the problem.
	Outcome string
	// Request is the id that the server's log has of the request; Remote the address that it came from. Empty for the command line.
	Request string
	Remote  string
}

// OutcomeOK is the outcome of what was done.
const OutcomeOK = "ok"

// By gives the record with the actor and the namespace of a principal.
func (r Record) By(p Principal) Record {
	r.Namespace, r.Token, r.Actor = p.Namespace, p.Token, p.Name
	return r
}

// Clean gives the record as stores keep it. It is for stores.
func (r Record) Clean() Record {
	r.At = r.At.UTC().Truncate(time.Microsecond)
	for _, text := range []*string{&r.Namespace, &r.Token, &r.Actor, &r.Channel, &r.Action, &r.Target, &r.Outcome, &r.Request, &r.Remote} {
		*text = cut(*text, MaxText)
	}
	return r
}

// Query asks for a page of records.
type Query struct {
	Namespace string
	// Since leaves out what was before; zero: nothing.
	Since time.Time
	// Limit is 1 to MaxPage; 0: DefaultPage. Others are taken for the nearest that is allowed.
	Limit int
	// Cursor is Page.Next of the page before; "": the first page.
	Cursor string
}

// Page is part of what a query asks for.
type Page struct {
	// Items is never nil.
	Items []Record
	// Next is empty where nothing follows.
	Next string
}
