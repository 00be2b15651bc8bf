package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

const (
	tagWebhooks      = "Webhooks"
	tagNotifications = "Notifications"
)

// registerHooks registers the operations that manage incoming webhooks and notifications. All of
// them need the role admin, since they let third parties start runs and receive their events
// (SEC2).
func (a *API) registerHooks() {
	if a.cfg.Hooks == nil {
		h, err := hooks.New(hooks.Config{Service: func(context.Context, string) (*service.Service, error) {
			return nil, journal.ErrNotFound
		}})
		if err != nil {
			panic(err) // this configuration is valid
		}
		a.cfg.Hooks = h
	}
	w := webhooks{a.cfg.Hooks}
	add(a, route{
		Method: http.MethodGet, Path: "/webhooks", ID: "listWebhooks", Tag: tagWebhooks, Role: access.RoleAdmin,
		Summary: "List incoming webhooks", Description: "Secrets are never shown.",
	}, w.list)
	add(a, route{
		Method: http.MethodPost, Path: "/webhooks", ID: "createWebhook", Tag: tagWebhooks, Role: access.RoleAdmin,
		Status:      http.StatusCreated,
		Summary:     "Create an incoming webhook for a published workflow",
		Description: "The secret is in this response only.", Errors: []int{http.StatusNotFound},
	}, w.create)
	add(a, route{
		Method: http.MethodPost, Path: "/webhooks/{id}/rotate", ID: "rotateWebhook", Tag: tagWebhooks,
		Role:    access.RoleAdmin,
		Summary: "Rotate the secret of a webhook", Description: "The previous secret stays valid for the overlap.",
		Errors: []int{http.StatusNotFound},
	}, w.rotate)
	add(a, route{
		Method: http.MethodDelete, Path: "/webhooks/{id}", ID: "deleteWebhook", Tag: tagWebhooks,
		Role: access.RoleAdmin, Status: http.StatusNoContent,
		Summary: "Delete a webhook", Errors: []int{http.StatusNotFound},
	}, w.remove)
	add(a, route{
		Method: http.MethodGet, Path: "/notifications", ID: "listNotifications", Tag: tagNotifications,
		Role:        access.RoleAdmin,
		Summary:     "List notifications, newest first",
		Description: "Filters are combined with AND. `dead`: delivery was abandoned.",
	}, w.notifications)
	add(a, route{
		Method: http.MethodPost, Path: "/notifications/{id}/retry", ID: "retryNotification", Tag: tagNotifications,
		Role:    access.RoleAdmin,
		Summary: "Send an abandoned notification again", Errors: []int{http.StatusNotFound},
	}, w.retry)
	add(a, route{
		Method: http.MethodGet, Path: "/notifications/endpoints", ID: "listEndpoints", Tag: tagNotifications,
		Role:    access.RoleAdmin,
		Summary: "List notification endpoints",
	}, w.endpoints)
	add(a, route{
		Method: http.MethodPost, Path: "/notifications/endpoints", ID: "createEndpoint", Tag: tagNotifications,
		Role: access.RoleAdmin, Status: http.StatusCreated,
		Summary: "Create a notification endpoint",
		Description: "It is notified of what happens to runs from now on. The secret that signs messages is in this " +
			"response only. The address must be public, or allowed by the operator. approveLinks needs the right " +
			"approve.",
	}, w.createEndpoint)
	add(a, route{
		Method: http.MethodDelete, Path: "/notifications/endpoints/{id}", ID: "deleteEndpoint", Tag: tagNotifications,
		Role: access.RoleAdmin, Status: http.StatusNoContent,
		Summary: "Delete a notification endpoint", Errors: []int{http.StatusNotFound},
	}, w.removeEndpoint)
}

type webhooks struct{ hooks *hooks.Hooks }

// Webhook is an incoming webhook as the API shows it, without secrets.
type Webhook struct {
	ID         string     `json:"id"`
	URL        string     `json:"url" doc:"URL for senders; a path if the server does not know its public address"`
	Workflow   string     `json:"workflow"`
	Branch     *string    `json:"branch"`
	Signal     *string    `json:"signal" doc:"Signal that a delivery sends to a run; null: a delivery starts a run"`
	RunAt      *string    `json:"runAt" doc:"JSON pointer to the id of that run in the body"`
	Name       string     `json:"name"`
	Mode       string     `json:"mode" enum:"standard,github,token" doc:"Standard Webhooks, GitHub or a header token"`
	Header     *string    `json:"header" doc:"The header of mode token"`
	SecretRef  *string    `json:"secretRef" doc:"The operator's reference to the secret; null: a generated secret"`
	Overlap    *time.Time `json:"overlapUntil" doc:"Time until which the secret before the last rotation is valid"`
	CreatedAt  time.Time  `json:"createdAt"`
	CreatedBy  string     `json:"createdBy"`
	DisabledAt *time.Time `json:"disabledAt" doc:"When its workflow was deleted; it starts no more runs"`
	FailedAt   *time.Time `json:"failedSince" doc:"Since when it starts no runs for the reason error; null: it does"`
	Error      *string    `json:"error" doc:"Why its last delivery started no run"`
	// Secret is present only in the response that created it.
	Secret string `json:"secret,omitempty" doc:"Shown only now"`
}

func webhookOf(h *hooks.Hooks, namespace string, w hooks.Webhook) Webhook {
	out := Webhook{
		ID: w.ID, URL: h.URL(namespace, w), Workflow: w.Workflow, Branch: optionalString(w.Branch),
		Signal: optionalString(w.Signal),
		RunAt:  optionalString(w.RunAt), Name: w.Name, Mode: string(w.Mode), Header: optionalString(w.Header),
		CreatedAt: w.Created, CreatedBy: w.CreatedBy,
	}
	if len(w.Secrets) > 0 {
		out.SecretRef = optionalString(w.Secrets[0].Ref)
	}
	if len(w.Secrets) > 1 && w.Secrets[1].Until.After(time.Now()) {
		out.Overlap = &w.Secrets[1].Until
	}
	if !w.Disabled.IsZero() {
		out.DisabledAt = &w.Disabled
	}
	if !w.Failed.IsZero() {
		out.FailedAt, out.Error = &w.Failed, optionalString(w.Error)
	}
	return out
}

type webhookAnswer struct{ Body Webhook }

// HookPath is the path parameter that identifies a webhook, an endpoint or a notification.
type HookPath struct {
	ID string `path:"id" doc:"Id of the webhook, the endpoint or the notification"`
}

type nothing struct{}

func (w webhooks) list(ctx context.Context, c *transport.Caller, _ *struct{}) (*listAnswer[Webhook], error) {
	all, err := w.hooks.Webhooks(ctx, c.Namespace, c.Service)
	if err != nil {
		return nil, err
	}
	items := make([]Webhook, len(all))
	for i, one := range all {
		items[i] = webhookOf(w.hooks, c.Namespace, one)
	}
	return listOf(items, ""), nil
}

type createWebhook struct {
	Body struct {
		Workflow  string `json:"workflow" doc:"Id of a published workflow"`
		Branch    string `json:"branch,omitempty" doc:"Absent: the main graph"`
		Signal    string `json:"signal,omitempty" doc:"Signal that a delivery sends to a run; absent: it starts a run"`
		RunAt     string `json:"runAt,omitempty" doc:"JSON pointer to the id of that run in the body; absent: /run"`
		Name      string `json:"name,omitempty" maxLength:"200" doc:"Display name"`
		Mode      string `json:"mode,omitempty" enum:"standard,github,token" doc:"Absent: standard"`
		Header    string `json:"header,omitempty" doc:"Header of mode token; absent: X-Webhook-Token"`
		SecretRef string `json:"secretRef,omitempty" doc:"Reference such as ${env.NAME}; only in the namespace default"`
	}
}

func (w webhooks) create(ctx context.Context, c *transport.Caller, in *createWebhook) (*webhookAnswer, error) {
	if err := mayRefer(c, in.Body.SecretRef); err != nil {
		return nil, err
	}
	made, err := w.hooks.Create(ctx, c.Namespace, c.Service, hooks.CreateRequest{
		Workflow: in.Body.Workflow, Branch: in.Body.Branch, Signal: in.Body.Signal, RunAt: in.Body.RunAt,
		Name: in.Body.Name, Mode: hooks.Mode(in.Body.Mode), Header: in.Body.Header,
		SecretRef: in.Body.SecretRef, By: c.Name,
	})
	if err != nil {
		return nil, err
	}
	out := webhookOf(w.hooks, c.Namespace, made.Of)
	out.Secret = made.Secret
	return &webhookAnswer{out}, nil
}

// mayRefer returns an error if a tenant may not refer to ref: variables and files on the server's
// machine are reserved for the operator (SEC10).
func mayRefer(c *transport.Caller, ref string) error {
	if ref == "" || c.Namespace == access.DefaultNamespace {
		return nil
	}
	return &transport.ForbiddenError{
		Reason: "secretRef is for operators of the server; omit it to have a secret generated",
	}
}

type rotateWebhook struct {
	HookPath
	Body struct {
		SecretRef      string `json:"secretRef,omitempty" doc:"As in createWebhook"`
		OverlapSeconds *int64 `json:"overlapSeconds,omitempty" minimum:"0" maximum:"2592000" doc:"Absent: one day"`
	}
}

func (w webhooks) rotate(ctx context.Context, c *transport.Caller, in *rotateWebhook) (*webhookAnswer, error) {
	if err := mayRefer(c, in.Body.SecretRef); err != nil {
		return nil, err
	}
	q := hooks.RotateRequest{SecretRef: in.Body.SecretRef}
	if s := in.Body.OverlapSeconds; s != nil {
		d := time.Duration(*s) * time.Second
		q.Overlap = &d
	}
	made, err := w.hooks.Rotate(ctx, c.Namespace, c.Service, in.ID, q)
	if err != nil {
		return nil, err
	}
	out := webhookOf(w.hooks, c.Namespace, made.Of)
	out.Secret = made.Secret
	return &webhookAnswer{out}, nil
}

func (w webhooks) remove(ctx context.Context, c *transport.Caller, in *HookPath) (*nothing, error) {
	return &nothing{}, w.hooks.Delete(ctx, c.Namespace, c.Service, in.ID)
}

// Notification is a message that was sent to an endpoint, or is to be sent.
type Notification struct {
	ID        string     `json:"id" doc:"The webhook-id that the endpoint receives, equal for all attempts"`
	Endpoint  string     `json:"endpoint"`
	Type      string     `json:"type"`
	Run       string     `json:"run" doc:"Empty: it is about a schedule"`
	Wait      *string    `json:"wait"`
	State     string     `json:"state" enum:"pending,delivered,dead,dropped"`
	Tries     int        `json:"tries" doc:"Number of failed attempts"`
	Error     *string    `json:"error" doc:"Error of the last failed attempt"`
	CreatedAt time.Time  `json:"createdAt"`
	DueAt     *time.Time `json:"dueAt" doc:"Time of the next attempt"`
	SettledAt *time.Time `json:"settledAt" doc:"When it was delivered or abandoned"`
}

func notificationOf(n hooks.Notification) Notification {
	out := Notification{
		ID: n.ID, Endpoint: n.Endpoint, Type: string(n.Type), Run: n.Run, Wait: optionalString(n.Wait),
		State: string(n.State),
		Tries: n.Tries, Error: optionalString(n.Error), CreatedAt: n.Made,
	}
	if !n.Due.IsZero() {
		out.DueAt = &n.Due
	}
	if !n.Settled.IsZero() {
		out.SettledAt = &n.Settled
	}
	return out
}

type notificationQuery struct {
	Page
	State string `query:"state" enum:"pending,delivered,dead,dropped" doc:"Only notifications in this state"`
	Run   string `query:"run" doc:"Only notifications of this run"`
}

func (w webhooks) notifications(ctx context.Context, c *transport.Caller, in *notificationQuery) (
	*listAnswer[Notification], error) {
	q := hooks.NotificationQuery{State: hooks.State(in.State), Run: in.Run, Limit: in.Limit}
	if in.Cursor != "" {
		before, err := strconv.ParseInt(in.Cursor, 10, 64)
		if err != nil || before <= 0 {
			return nil, service.Refuse(errcode.InvalidCursor, nil, err)
		}
		q.Before = before
	}
	list, next, err := w.hooks.Notifications(ctx, c.Namespace, c.Service, q)
	if err != nil {
		return nil, err
	}
	items := make([]Notification, len(list))
	for i, n := range list {
		items[i] = notificationOf(n)
	}
	cursor := ""
	if next > 0 {
		cursor = strconv.FormatInt(next, 10)
	}
	return listOf(items, cursor), nil
}

type notificationAnswer struct{ Body Notification }

func (w webhooks) retry(ctx context.Context, c *transport.Caller, in *HookPath) (*notificationAnswer, error) {
	n, err := w.hooks.Retry(ctx, c.Namespace, c.Service, in.ID)
	if err != nil {
		return nil, err
	}
	return &notificationAnswer{notificationOf(n)}, nil
}

// Endpoint is a URL that receives notifications about runs.
type Endpoint struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	URL          string   `json:"url"`
	On           []string `json:"on" doc:"Types of notifications; empty: all"`
	Workflows    []string `json:"workflows" doc:"Ids or names of workflows; empty: all"`
	Children     bool     `json:"children"`
	ApproveLinks bool     `json:"approveLinks"`
	Operator     bool     `json:"operator" doc:"It is configured in the server's hocket.yaml"`
	Secret       string   `json:"secret,omitempty" doc:"Shown only now"`
}

func endpointOf(e hooks.Endpoint) Endpoint {
	out := Endpoint{ID: e.ID, Name: e.Name, URL: e.URL, On: []string{}, Workflows: append([]string{}, e.Workflows...),
		Children: e.Children, ApproveLinks: e.ApproveLinks, Operator: e.Operator}
	for _, t := range e.On {
		out.On = append(out.On, string(t))
	}
	return out
}

func (w webhooks) endpoints(ctx context.Context, c *transport.Caller, _ *struct{}) (*listAnswer[Endpoint], error) {
	all, err := w.hooks.Endpoints(ctx, c.Namespace, c.Service)
	if err != nil {
		return nil, err
	}
	items := make([]Endpoint, len(all))
	for i, e := range all {
		items[i] = endpointOf(e)
	}
	return listOf(items, ""), nil
}

type createEndpoint struct {
	Body struct {
		URL          string   `json:"url" maxLength:"2000" doc:"URL that messages are sent to"`
		Name         string   `json:"name,omitempty" maxLength:"200" doc:"Display name"`
		On           []string `json:"on,omitempty" doc:"Types such as run.failed, see docs/webhooks.md; absent: all"`
		Workflows    []string `json:"workflows,omitempty" maxItems:"200" doc:"Ids or names of workflows; absent: all"`
		Children     bool     `json:"children,omitempty" doc:"Also runs that other runs started"`
		ApproveLinks bool     `json:"approveLinks,omitempty" doc:"Readers of approval messages can decide with a link"`
	}
}

type endpointAnswer struct{ Body Endpoint }

func (w webhooks) createEndpoint(ctx context.Context, c *transport.Caller, in *createEndpoint) (
	*endpointAnswer, error) {
	if in.Body.ApproveLinks { // anyone who receives such a link can approve
		if err := c.RequireApproval(); err != nil {
			return nil, err
		}
	}
	q := hooks.EndpointRequest{
		Name: in.Body.Name, URL: in.Body.URL, Workflows: in.Body.Workflows, Children: in.Body.Children,
		ApproveLinks: in.Body.ApproveLinks, By: c.Name,
	}
	for _, t := range in.Body.On {
		q.On = append(q.On, hooks.Type(t))
	}
	made, err := w.hooks.CreateEndpoint(ctx, c.Namespace, c.Service, q)
	if err != nil {
		return nil, err
	}
	out := endpointOf(made.Of)
	out.Secret = made.Secret
	return &endpointAnswer{out}, nil
}

func (w webhooks) removeEndpoint(ctx context.Context, c *transport.Caller, in *HookPath) (*nothing, error) {
	return &nothing{}, w.hooks.DeleteEndpoint(ctx, c.Namespace, c.Service, in.ID)
}
