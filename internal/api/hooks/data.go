package hooks

import "github.com/hocket-run/hocket/internal/api/hooks/hookdata"

// What is stored, as package hookdata says it.
type (
	// Store keeps what hooks must not forget.
	Store = hookdata.Store
	// Webhook is an address at which one sender starts runs.
	Webhook = hookdata.Webhook
	// Secret is one secret of a webhook or an endpoint.
	Secret = hookdata.Secret
	// Mode is how the sender of a webhook is verified.
	Mode = hookdata.Mode
	// Delivery is something that a sender sent once.
	Delivery = hookdata.Delivery
	// Endpoint is a URL to which notifications are sent.
	Endpoint = hookdata.Endpoint
	// Type is what a notification is about.
	Type = hookdata.Type
	// Notification is one message to one endpoint.
	Notification = hookdata.Notification
	// NotificationQuery says which notifications a list gives.
	NotificationQuery = hookdata.NotificationQuery
	// State is the state of a notification.
	State = hookdata.State
	// Use is one use of an approve link.
	Use = hookdata.Use
)

// States of notifications.
const (
	StatePending   = hookdata.StatePending
	StateDelivered = hookdata.StateDelivered
	StateDead      = hookdata.StateDead
	StateDropped   = hookdata.StateDropped
)

// Errors of stores.
var (
	ErrNone  = hookdata.ErrNone
	ErrMoved = hookdata.ErrMoved
)
