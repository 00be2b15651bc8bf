package hooks

import "github.com/hocket-run/hocket/internal/api/hooks/hookdata"

// Stored types, as defined by package hookdata.
type (
	// Store stores what hooks must not forget.
	Store = hookdata.Store
	// Webhook is an address at which one sender starts runs.
	Webhook = hookdata.Webhook
	// Secret is a secret of a webhook or an endpoint.
	Secret = hookdata.Secret
	// Mode is how the sender of a webhook is verified.
	Mode = hookdata.Mode
	// Delivery is a request that a sender sent once.
	Delivery = hookdata.Delivery
	// Endpoint is a URL to which notifications are sent.
	Endpoint = hookdata.Endpoint
	// Type is the type of event that a notification is about.
	Type = hookdata.Type
	// Notification is one message to one endpoint.
	Notification = hookdata.Notification
	// NotificationQuery selects the notifications of a list.
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

// Errors returned by stores.
var (
	ErrNone  = hookdata.ErrNone
	ErrMoved = hookdata.ErrMoved
)
