package hookdata

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// Errors of stores.
var (
	// ErrNone: there is no such webhook, endpoint or notification.
	ErrNone = errors.New("no such webhook")
	// ErrMoved: another process moved the cursor.
	ErrMoved = errors.New("the cursor was moved by another process")
)

// Store keeps what hooks must not forget, in the store of one namespace (SEC10). All stores pass hookdatatest.Run. Safe for concurrent use, also by several
// processes. Times are UTC in microseconds. What a call gave or was given is the caller's.
type Store interface {
	Incoming
	Endpoints
	Outbox
	Backlogs
	Links
}

// Incoming keeps webhooks and which deliveries came.
type Incoming interface {
	// Webhooks gives all, by the time at which they were made.
	Webhooks(ctx context.Context) ([]Webhook, error)
	// Webhook gives the one with that path. Errors: ErrNone.
	Webhook(ctx context.Context, path [sha256.Size]byte) (Webhook, error)
	// SetWebhook changes the webhook of an id, or adds it: change is given what is stored, the zero Webhook where there is none, in a transaction. An error of
	// change is given back with nothing changed. It may be called twice.
	SetWebhook(ctx context.Context, id string, change func(*Webhook) error) (Webhook, error)
	// DeleteWebhook forgets a webhook and its deliveries. Errors: ErrNone.
	DeleteWebhook(ctx context.Context, id string) error
	// Deliver keeps d and gives it back, or what was kept under its key before and is not past its time. Of several at once one is kept.
	Deliver(ctx context.Context, d Delivery) (Delivery, error)
}

// Delivery is something that a sender sent once, however often it came.
type Delivery struct {
	Webhook string
	Key     [sha256.Size]byte
	// At is when it came first; Until is when it is forgotten, and what comes under its key is another one.
	At, Until time.Time
}

// Endpoints keeps those who are told.
type Endpoints interface {
	// Endpoints gives those that are kept here: not those of the operator's file.
	Endpoints(ctx context.Context) ([]Endpoint, error)
	// SetEndpoint adds or changes an endpoint as SetWebhook does.
	SetEndpoint(ctx context.Context, id string, change func(*Endpoint) error) (Endpoint, error)
	// DeleteEndpoint forgets an endpoint and what it has not been told. Errors: ErrNone.
	DeleteEndpoint(ctx context.Context, id string) error
}

// Outbox keeps what is to be told, until it was told.
type Outbox interface {
	// Cursor tells up to where of the feed notifications were made; found is false where no cursor was stored.
	Cursor(ctx context.Context) (at int64, found bool, err error)
	// Post keeps notifications and moves the cursor from one place to another, all or nothing. A notification of an id that is there is left as it is. Errors: ErrMoved.
	Post(ctx context.Context, from, to int64, notifications []Notification) error
	// Take gives notifications that are due, the oldest first, but for those of some endpoints, and hides them from all until a time, so that of several
	// processes one sends them.
	Take(ctx context.Context, now, until time.Time, limit int, but []string) ([]Notification, error)
	// Settle stores what became of a notification, and what follows from it. One that is not there is no error.
	Settle(ctx context.Context, n Notification, next ...Notification) error
	// Notifications gives a page of notifications, the newest first, and the cursor of the next page.
	Notifications(ctx context.Context, q NotificationQuery) ([]Notification, int64, error)
	// Notification gives one. Errors: ErrNone.
	Notification(ctx context.Context, id string) (Notification, error)
	// Sweep forgets deliveries that are past their time, and notifications that were settled before a time.
	Sweep(ctx context.Context, now, before time.Time) error
}

// Backlogs counts notifications.
type Backlogs interface {
	// Backlog gives how many notifications are to be sent, now or later, and how many were given up on.
	Backlog(ctx context.Context) (pending, dead int, err error)
}

// Links keeps which approve links were used.
type Links interface {
	// Use keeps that a link is being used and gives it back, or what was kept of its nonce before.
	Use(ctx context.Context, u Use) (Use, error)
	// Used gives what is kept of a nonce. Errors: ErrNone.
	Used(ctx context.Context, nonce string) (Use, error)
	// Unuse forgets a use whose decision the run refused.
	Unuse(ctx context.Context, nonce string) error
}

// Use is one use of an approve link.
type Use struct {
	Nonce string `json:"nonce"`
	// Answer is what was decided, as JSON.
	Answer string    `json:"answer"`
	Note   string    `json:"note,omitempty"`
	At     time.Time `json:"at"`
	// Until is when the link would have ended: after it the use is forgotten.
	Until time.Time `json:"until"`
}

// State is where a notification stands.
type State string

const (
	// StatePending: it is to be sent, now or later.
	StatePending State = "pending"
	// StateDelivered: its endpoint took it.
	StateDelivered State = "delivered"
	// StateDead: it was given up on. A person may send it again.
	StateDead State = "dead"
	// StateDropped: it was not needed any more when its time came, as a reminder of a wait that was answered.
	StateDropped State = "dropped"
)

// Notification is one thing that one endpoint is to be told.
type Notification struct {
	// ID is the webhook-id that the endpoint sees, equal on every try: it follows from endpoint, run, event and, of reminders, their number.
	ID       string `json:"id"`
	Endpoint string `json:"endpoint"`
	Type     Type   `json:"type"`
	Run      string `json:"run"`
	// Wait is "" for what is no matter of a wait.
	Wait string `json:"wait,omitempty"`
	// Body is the message without links: those are made when it is sent, so that none is stored.
	Body []byte `json:"body"`
	// Count is the number of a reminder.
	Count int   `json:"count,omitempty"`
	State State `json:"state"`
	// Tries counts those that failed.
	Tries int       `json:"tries"`
	Error string    `json:"error,omitempty"`
	Made  time.Time `json:"made"`
	// Due is when it is to be sent, if it is pending; Settled when it was delivered or given up on.
	Due     time.Time `json:"due,omitzero"`
	Settled time.Time `json:"settled,omitzero"`
}

// NotificationQuery says which notifications Notifications gives. Zero values are no filter.
type NotificationQuery struct {
	State State
	Run   string
	// Limit is 50 where zero, and at most 200.
	Limit int
	// Before is a cursor that Notifications gave.
	Before int64
}

// PageSize is the number of notifications on a page of q.
func (q NotificationQuery) PageSize() int {
	switch {
	case q.Limit <= 0:
		return 50
	case q.Limit > 200:
		return 200
	}
	return q.Limit
}
