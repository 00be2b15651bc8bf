package hookdata

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// Errors returned by stores.
var (
	// ErrNone is returned when there is no such webhook, endpoint or notification.
	ErrNone = errors.New("no such webhook")
	// ErrMoved is returned when another process moved the cursor.
	ErrMoved = errors.New("the cursor was moved by another process")
)

// Store stores what hooks must not forget, in the store of one namespace (SEC10). All
// implementations must pass hookdatatest.Run. It is safe for concurrent use, including by several
// processes. Times are UTC in microseconds. The caller owns arguments and results.
type Store interface {
	Incoming
	Endpoints
	Outbox
	Backlogs
	Links
}

// Incoming stores webhooks and their received deliveries.
type Incoming interface {
	// Webhooks returns all webhooks, ordered by creation time.
	Webhooks(ctx context.Context) ([]Webhook, error)
	// Webhook returns the webhook with that path, or ErrNone.
	Webhook(ctx context.Context, path [sha256.Size]byte) (Webhook, error)
	// SetWebhook changes the webhook with the given id, or adds it: in a transaction it calls
	// change with the stored webhook, or the zero Webhook if there is none. An error of change is
	// returned and nothing is changed. change may be called twice.
	SetWebhook(ctx context.Context, id string, change func(*Webhook) error) (Webhook, error)
	// DeleteWebhook deletes a webhook and its deliveries. It returns ErrNone if there is no such
	// webhook.
	DeleteWebhook(ctx context.Context, id string) error
	// Deliver stores and returns d, or returns the delivery already stored under its key if that
	// has not expired. Of several concurrent deliveries with the same key, one is stored.
	Deliver(ctx context.Context, d Delivery) (Delivery, error)
}

// Delivery is a request that a sender sent once, however often it was received.
type Delivery struct {
	Webhook string
	Key     [sha256.Size]byte
	// At is when it was first received. Until is when it expires; a later delivery with the same
	// key is a new one.
	At, Until time.Time
}

// Endpoints stores the endpoints that are notified.
type Endpoints interface {
	// Endpoints returns the stored endpoints, not those of the operator's file.
	Endpoints(ctx context.Context) ([]Endpoint, error)
	// SetEndpoint adds or changes an endpoint, like SetWebhook.
	SetEndpoint(ctx context.Context, id string, change func(*Endpoint) error) (Endpoint, error)
	// DeleteEndpoint deletes an endpoint and its undelivered notifications. It returns ErrNone if
	// there is no such endpoint.
	DeleteEndpoint(ctx context.Context, id string) error
}

// Outbox stores notifications until they are delivered.
type Outbox interface {
	// Cursor returns the position in the feed up to which notifications were created; found is
	// false if no cursor was stored.
	Cursor(ctx context.Context) (at int64, found bool, err error)
	// Post stores notifications and moves the cursor from one position to another, atomically. A
	// notification whose id exists is left unchanged. It returns ErrMoved if the cursor is not at
	// from.
	Post(ctx context.Context, from, to int64, notifications []Notification) error
	// Take returns due notifications, oldest first, except those of the endpoints in but, and hides
	// them from all processes until the given time, so that only one of several processes sends
	// them.
	Take(ctx context.Context, now, until time.Time, limit int, but []string) ([]Notification, error)
	// Settle stores the outcome of a notification, and the notifications that follow from it. If
	// the notification does not exist, that is not an error.
	Settle(ctx context.Context, n Notification, next ...Notification) error
	// Notifications returns a page of notifications, newest first, and the cursor of the next page.
	Notifications(ctx context.Context, q NotificationQuery) ([]Notification, int64, error)
	// Notification returns one notification, or ErrNone.
	Notification(ctx context.Context, id string) (Notification, error)
	// Sweep deletes expired deliveries, and notifications that were settled before a time.
	Sweep(ctx context.Context, now, before time.Time) error
}

// Backlogs counts notifications.
type Backlogs interface {
	// Backlog returns how many notifications are to be sent, now or later, and how many were given
	// up on.
	Backlog(ctx context.Context) (pending, dead int, err error)
}

// Links stores which approve links were used.
type Links interface {
	// Use records that a link is being used and returns the use, or returns the use already
	// recorded for its nonce.
	Use(ctx context.Context, u Use) (Use, error)
	// Used returns the use recorded for a nonce, or ErrNone.
	Used(ctx context.Context, nonce string) (Use, error)
	// Unuse deletes a use whose decision the run rejected.
	Unuse(ctx context.Context, nonce string) error
}

// Use is one use of an approve link.
type Use struct {
	Nonce string `json:"nonce"`
	// Answer is the decision, as JSON.
	Answer string    `json:"answer"`
	Note   string    `json:"note,omitempty"`
	At     time.Time `json:"at"`
	// Until is when the link would have expired; the use is deleted after that.
	Until time.Time `json:"until"`
}

// State is the state of a notification.
type State string

const (
	// StatePending means that it is to be sent, now or later.
	StatePending State = "pending"
	// StateDelivered means that its endpoint accepted it.
	StateDelivered State = "delivered"
	// StateDead means that it was given up on. A person may send it again.
	StateDead State = "dead"
	// StateDropped means that it was no longer needed when it was due, such as a reminder of a wait
	// that was answered.
	StateDropped State = "dropped"
)

// Notification is one message for one endpoint.
type Notification struct {
	// ID is the webhook-id that the endpoint sees, the same for every attempt: it is derived from
	// endpoint, run, event and, for reminders, their number.
	ID       string `json:"id"`
	Endpoint string `json:"endpoint"`
	Type     Type   `json:"type"`
	// Run is "" if the notification is not about a run.
	Run string `json:"run"`
	// Wait is "" if the notification is not about a wait.
	Wait string `json:"wait,omitempty"`
	// Body is the message without links: those are created when it is sent, so that none is stored.
	Body []byte `json:"body"`
	// Count is the number of a reminder.
	Count int   `json:"count,omitempty"`
	State State `json:"state"`
	// Tries is the number of failed attempts.
	Tries int       `json:"tries"`
	Error string    `json:"error,omitempty"`
	Made  time.Time `json:"made"`
	// Due is when it is to be sent, if it is pending; Settled is when it was delivered or given up
	// on.
	Due     time.Time `json:"due,omitzero"`
	Settled time.Time `json:"settled,omitzero"`
}

// NotificationQuery selects the notifications that Notifications returns. Zero values do not
// filter.
type NotificationQuery struct {
	State State
	Run   string
	// Limit is the page size, at most 200; 0 means 50.
	Limit int
	// Before is a cursor returned by Notifications.
	Before int64
}

// PageSize returns the number of notifications on a page of q.
func (q NotificationQuery) PageSize() int {
	switch {
	case q.Limit <= 0:
		return 50
	case q.Limit > 200:
		return 200
	}
	return q.Limit
}
