package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
)

// Created is a new webhook or endpoint, or one with a new secret. Secret is shown only this once;
// "" if the secret is the operator's.
type Created[T any] struct {
	Of     T
	Secret string
}

func invalid(err error) error { return service.Refuse(errcode.InvalidHook, nil, err) }

// Create creates a webhook in a namespace. It returns a *service.InvalidError, or a
// *service.NotFoundError for a workflow that does not exist.
func (h *Hooks) Create(ctx context.Context, namespace string, s *service.Service, q CreateRequest) (
	Created[Webhook], error) {
	var none Created[Webhook]
	if err := q.check(); err != nil {
		return none, invalid(err)
	}
	w, _, problems, err := s.LoadStored(ctx, q.Workflow, service.Which{}, service.LoadOptions{})
	if err != nil {
		return none, err
	}
	if w == nil {
		return none, &service.InvalidError{Diagnostics: problems}
	}
	if _, err := service.Choose(w, q.Branch); err != nil {
		return none, err
	}
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return none, err
	}
	made := Webhook{
		ID: newID("wh_"), Path: newPath(), Workflow: q.Workflow, Branch: q.Branch, Signal: q.Signal, RunAt: q.RunAt,
		Name: q.Name, Mode: q.Mode, Header: q.Header,
		Created: storedTime(time.Now()), CreatedBy: q.By,
	}
	one, text, err := h.newSecret(sp, made.ID, made.Mode, q.SecretRef)
	if err != nil {
		return none, err
	}
	made.Secrets = []Secret{one}
	made, err = sp.store.SetWebhook(ctx, made.ID, func(w *Webhook) error {
		*w = made
		return nil
	})
	if err != nil {
		return none, err
	}
	transport.RecordAction(ctx, "webhooks.create", made.ID)
	return Created[Webhook]{made, text}, nil
}

// newSecret generates a secret and returns it with its text, which is shown once, or accepts a
// reference, which must resolve to a valid key now; then the text is "".
func (h *Hooks) newSecret(sp *space, id string, mode Mode, ref string) (s Secret, text string, err error) {
	if ref != "" {
		value, err := h.cfg.Secrets.Value(ref)
		if err == nil {
			_, err = keyOf(mode, value)
		}
		if err != nil {
			return s, "", invalid(fmt.Errorf("secret: %w", err))
		}
		return Secret{Ref: ref}, "", nil
	}
	vault, err := sp.openVault()
	if err != nil {
		return s, "", err
	}
	text = newSecret()
	return Secret{Sealed: vault.Seal(id, text)}, text, nil
}

// Webhooks returns the webhooks of a namespace.
func (h *Hooks) Webhooks(ctx context.Context, namespace string, s *service.Service) ([]Webhook, error) {
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return nil, err
	}
	return sp.store.Webhooks(ctx)
}

// Delete deletes a webhook. It returns a *service.NotFoundError if there is none.
func (h *Hooks) Delete(ctx context.Context, namespace string, s *service.Service, id string) error {
	sp, err := h.spaceOf(namespace, s)
	if err == nil {
		err = found("Webhook", id, sp.store.DeleteWebhook(ctx, id))
	}
	if err == nil {
		transport.RecordAction(ctx, "webhooks.delete", id)
	}
	return err
}

func found(what, id string, err error) error {
	if errors.Is(err, ErrNone) {
		return &service.NotFoundError{What: what, ID: id}
	}
	return err
}

// RotateRequest specifies how a secret is replaced with a new one. The zero value generates a new
// secret; the old one remains valid for DefaultOverlap.
type RotateRequest struct {
	// SecretRef is as in CreateRequest.
	SecretRef string
	// Overlap is how long the old secret remains valid; nil means DefaultOverlap, and zero
	// invalidates it immediately.
	Overlap *time.Duration
}

// rotate prepends a secret to those that remain valid.
func (q RotateRequest) rotate(secrets []Secret, one Secret, now time.Time) ([]Secret, error) {
	overlap := DefaultOverlap
	if q.Overlap != nil {
		overlap = *q.Overlap
	}
	if overlap < 0 || overlap > maxOverlap {
		return nil, fmt.Errorf("the overlap must be from 0 to %s", maxOverlap)
	}
	out := []Secret{one}
	for _, s := range secrets {
		if s.Until.IsZero() || s.Until.After(now.Add(overlap)) {
			s.Until = storedTime(now.Add(overlap))
		}
		if s.Holds(now) && len(out) < MaxSecrets {
			out = append(out, s)
		}
	}
	return out, nil
}

// Rotate sets a new secret for a webhook; the previous one remains valid for a while. It returns a
// *service.NotFoundError or a *service.InvalidError.
func (h *Hooks) Rotate(ctx context.Context, namespace string, s *service.Service, id string, q RotateRequest) (
	Created[Webhook], error) {
	var none Created[Webhook]
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return none, err
	}
	text := ""
	w, err := sp.store.SetWebhook(ctx, id, func(w *Webhook) error {
		if w.ID == "" {
			return ErrNone
		}
		var one Secret
		var err error
		if one, text, err = h.newSecret(sp, id, w.Mode, q.SecretRef); err != nil {
			return err
		}
		if w.Secrets, err = q.rotate(w.Secrets, one, time.Now()); err != nil {
			return invalid(err)
		}
		return nil
	})
	if err != nil {
		return none, found("Webhook", id, err)
	}
	transport.RecordAction(ctx, "webhooks.rotate", id)
	return Created[Webhook]{w, text}, nil
}

// EndpointRequest specifies the endpoint to create. Its secret is generated.
type EndpointRequest struct {
	Name, URL    string
	On           []Type
	Workflows    []string
	Children     bool
	ApproveLinks bool
	By           string
}

// CreateEndpoint creates an endpoint that is notified of events from now on. Its address must be
// public, or one that the operator allows: this is checked now if possible, and whenever something
// is sent to it (SEC8). It returns a *service.InvalidError if the request is invalid.
func (h *Hooks) CreateEndpoint(ctx context.Context, namespace string, s *service.Service, q EndpointRequest) (
	Created[Endpoint], error) {
	var none Created[Endpoint]
	e := Endpoint{
		ID: newID("ep_"), Name: q.Name, URL: q.URL, On: q.On, Workflows: q.Workflows, Children: q.Children,
		ApproveLinks: q.ApproveLinks,
		Created:      storedTime(time.Now()), CreatedBy: q.By,
	}
	if err := checkEndpoint(&e); err != nil {
		return none, invalid(err)
	}
	if h.cfg.Refused != nil {
		if err := h.cfg.Refused(ctx, e.URL); err != nil {
			return none,
				invalid(
					fmt.Errorf("url: %w; endpoints must be public or allowed in hocket.yaml (outbound: {allow: […]})",
						err))
		}
	}
	if e.ApproveLinks && h.cfg.PublicURL == "" {
		return none,
			invalid(errors.New("approve links need the server's public address: set server.url in hocket.yaml"))
	}
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return none, err
	}
	one, text, err := h.newSecret(sp, e.ID, ModeStandard, "")
	if err != nil {
		return none, err
	}
	e.Secrets = []Secret{one}
	e, err = sp.store.SetEndpoint(ctx, e.ID, func(stored *Endpoint) error {
		*stored = e
		return nil
	})
	if err != nil {
		return none, err
	}
	transport.RecordAction(ctx, "notifications.endpoints.create", e.ID)
	return Created[Endpoint]{e, text}, nil
}

// Endpoints returns the endpoints of a namespace, the operator's first.
func (h *Hooks) Endpoints(ctx context.Context, namespace string, s *service.Service) ([]Endpoint, error) {
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return nil, err
	}
	return h.endpoints(ctx, sp)
}

// DeleteEndpoint deletes an endpoint and its undelivered notifications. It returns a
// *service.NotFoundError, or a *service.InvalidError for an endpoint of the operator's file.
func (h *Hooks) DeleteEndpoint(ctx context.Context, namespace string, s *service.Service, id string) error {
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(h.cfg.Endpoints, func(e Endpoint) bool { return e.ID == id }) {
		return invalid(errors.New("this endpoint is configured in hocket.yaml (server.notifications)"))
	}
	if err := sp.store.DeleteEndpoint(ctx, id); err != nil {
		return found("Endpoint", id, err)
	}
	transport.RecordAction(ctx, "notifications.endpoints.delete", id)
	return nil
}

// Notifications returns a page of sent and pending notifications, newest first.
func (h *Hooks) Notifications(ctx context.Context, namespace string, s *service.Service, q NotificationQuery) (
	[]Notification, int64, error) {
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return nil, 0, err
	}
	return sp.store.Notifications(ctx, q)
}

// Retry sends a notification again that was given up on, or that waits for its next attempt. It
// returns a *service.NotFoundError, or a *service.InvalidError for a delivered notification.
func (h *Hooks) Retry(ctx context.Context, namespace string, s *service.Service, id string) (Notification, error) {
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return Notification{}, err
	}
	n, err := sp.store.Notification(ctx, id)
	if err != nil {
		return n, found("Notification", id, err)
	}
	if n.State == StateDelivered || n.State == StateDropped {
		return n, invalid(fmt.Errorf("notification %s is %s", id, n.State))
	}
	n.State, n.Tries, n.Due, n.Settled = StatePending, 0, storedTime(time.Now()), time.Time{}
	if err := sp.store.Settle(ctx, n); err != nil {
		return n, err
	}
	transport.RecordAction(ctx, "notifications.retry", id)
	return n, nil
}
