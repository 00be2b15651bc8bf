package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// accepted is the response to a delivery, the same each time it is received. It is never HTML
// (SEC15).
type accepted struct {
	Run    string         `json:"run"`
	Status journal.Status `json:"status"`
}

// unknownHook is the response to an unknown path, a wrong signature and an unknown namespace:
// senders cannot tell them apart.
var unknownHook = transport.Problem{Status: http.StatusNotFound, Code: "not_found", Title: "Not found"}

// decoyKeys replaces the keys of an unknown webhook, so that a signature is computed for it, too.
var decoyKeys = [][]byte{[]byte("placeholder key of an unknown webhook")}

// Receive returns the handler of /hooks/. A request that is not signed, or whose path is unknown,
// changes nothing and learns nothing.
func (h *Hooks) Receive() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hooks/{path}", h.receive)
	mux.HandleFunc("/hooks/{namespace}/{path}", h.receive)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { transport.WriteProblem(w, r, unknownHook) })
	return mux
}

func (h *Hooks) receive(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		transport.WriteProblem(w, r, transport.NoMethod("a webhook", "POST"))
		return
	}
	// An unknown path must be indistinguishable from a known one to a sender: so the body is read
	// before either is answered. Only the body for a known path is kept, and is charged to its
	// webhook: a sender that does not know a path consumes no memory (SEC17).
	sp, hook, keys := h.find(r, time.Now())
	body, err := h.delivered(w, r, hook.ID)
	if err != nil {
		h.count(CountDelivery, "invalid")
		transport.RecordError(r.Context(), err)
		transport.WriteProblem(w, r, transport.ProblemOf(err))
		return
	}
	id, ok := verify(hook.Mode, hook.Header, keys, r.Header, body)
	why := rejection(hook.Mode, hook.Header, r.Header, time.Now()) // in any case, so that each takes as long
	if !ok || sp == nil {
		if sp == nil {
			hook.ID, why = "-", "no webhook with a usable secret has this path"
		}
		transport.RecordError(r.Context(), fmt.Errorf("webhook %s: %s", hook.ID, why))
		h.count(CountDelivery, "not_found")
		transport.WriteProblem(w, r, unknownHook)
		return
	}
	accept := h.accept
	if hook.Signal != "" {
		accept = h.signal
	}
	run, err := accept(r.Context(), sp, hook, id, r.Header, body)
	if err != nil {
		var (
			unsupported *unsupportedError
			malformed   *malformedError
			disabled    *disabledError
			p           = transport.ProblemOf(err)
			result      = "failed"
		)
		switch {
		case errors.As(err, &unsupported):
			result = "invalid"
			p = transport.Problem{Status: http.StatusUnsupportedMediaType, Code: "invalid",
				Title: "Unsupported content type", Detail: err.Error()}
		case errors.As(err, &malformed):
			result = "invalid"
			p = transport.Problem{Status: http.StatusUnprocessableEntity, Code: "invalid", Title: "Invalid body",
				Detail: err.Error()}
		case errors.As(err, &disabled):
			result = "disabled"
			p = transport.Problem{Status: http.StatusGone, Code: "gone", Title: "The webhook is disabled",
				Detail: err.Error()}
		case p.Status == http.StatusTooManyRequests:
			result = "busy"
		case hook.Signal != "" && p.Status < http.StatusInternalServerError:
			// an error in a signal is the sender's responsibility: the run rejected it
			result = "refused"
		default: // an error in the workflow is the operator's responsibility, not the sender's
			h.cfg.Logger.Error("webhook did not start a run", "webhook", hook.ID, "workflow", hook.Workflow,
				"namespace",
				sp.name, "err", err)
			h.recordFailure(r.Context(), sp, hook, truncate(err.Error()))
			if p.Status < http.StatusInternalServerError {
				p = transport.Problem{Status: http.StatusConflict, Code: "conflict",
					Title: "The workflow cannot be started now"}
			}
		}
		h.count(CountDelivery, result)
		transport.RecordError(r.Context(), fmt.Errorf("webhook %s: %w", hook.ID, err))
		transport.WriteProblem(w, r, p)
		return
	}
	h.recordFailure(r.Context(), sp, hook, "")
	h.count(CountDelivery, "accepted")
	w.Header().Set("Location", "/api/v1/runs/"+run)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(accepted{run, journal.StatusPending}) // the sender may be gone
}

// delivered reads the body of a delivery to a webhook. For the id "", which no webhook has, the
// body is read and discarded.
func (h *Hooks) delivered(w http.ResponseWriter, r *http.Request, webhook string) ([]byte, error) {
	claim := inflight.From(r.Context())
	if webhook != "" {
		if err := claim.Rename("webhook " + webhook); err != nil {
			return nil, err
		}
		return transport.ReadBody(w, r, h.cfg.MaxBody)
	}
	in, piece := http.MaxBytesReader(w, r.Body, h.cfg.MaxBody), make([]byte, 4<<10)
	for {
		_, err := in.Read(piece)
		claim.Give(claim.Bytes())
		if err != nil {
			return nil, transport.BodyError(err)
		}
	}
}

// find returns the webhook of a request and its keys. If there is none, or it has no usable key, sp
// is nil and the keys are decoyKeys.
func (h *Hooks) find(r *http.Request, now time.Time) (sp *space, w Webhook, keys [][]byte) {
	namespace, path := r.PathValue("namespace"), r.PathValue("path")
	known := pathForm.MatchString(path) && namespace != access.DefaultNamespace
	if namespace == "" {
		namespace = access.DefaultNamespace
	}
	if !known || !namespaceForm.MatchString(namespace) {
		namespace, path = access.DefaultNamespace, ""
	}
	sp, err := h.space(r.Context(), namespace)
	if err == nil {
		w, err = sp.store.Webhook(r.Context(), hookdata.PathDigest(path))
	}
	if err == nil {
		keys, _ = h.keys(sp, w.ID, "the webhook "+w.ID, w.Mode, w.Secrets, now) // it logs errors
	} else if !errors.Is(err, ErrNone) {
		h.cfg.Logger.Warn("webhook", "namespace", namespace, "err", err)
	}
	if len(keys) == 0 {
		return nil, Webhook{Mode: ModeStandard}, decoyKeys
	}
	return sp, w, keys
}

// namespaceForm is the form of names in package namespace (SEC16).
var namespaceForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// disabledError is returned when a webhook no longer starts anything.
type disabledError struct{ reason string }

func (e *disabledError) Error() string { return e.reason }

// accept starts the run of a delivery, or returns the run that it started before. The run's id is
// derived from the delivery, so that of two concurrent deliveries, even at two servers, the store
// rejects the second (SEC18).
func (h *Hooks) accept(ctx context.Context, sp *space, hook Webhook, id string, header http.Header, body []byte) (
	run string, err error) {
	if !hook.Disabled.IsZero() {
		return "", &disabledError{hook.Reason}
	}
	input, err := inputOf(header, body)
	if err != nil {
		return "", err
	}
	run, known, err := sp.runOf(ctx, hook, id, header, body)
	if err != nil || known {
		return run, err
	}
	w, def, problems, err := sp.service.LoadStored(ctx, hook.Workflow, service.Which{}, service.LoadOptions{})
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return "", h.disable(ctx, sp, hook.ID, "the workflow was deleted")
	case err != nil:
		return "", err
	case w == nil || problems.HasErrors():
		return "", &service.InvalidError{Diagnostics: problems}
	}
	if err := knownHook(ctx, sp, hook); err != nil {
		return "", err
	}
	_, err = sp.service.Start(ctx, service.StartRequest{Trigger: service.TriggerWebhook, Workflow: w,
		Branch: hook.Branch, Stored: def.Entry.ID, Version: def.Version, Input: input, RunID: run})
	switch {
	case errors.Is(err, journal.ErrExists): // received twice concurrently
		return run, nil
	case err != nil:
		return "", err
	}
	transport.RecordAction(ctx, "runs.start", run)
	transport.RecordAction(ctx, "webhooks.deliver", hook.ID)
	return run, nil
}

// knownHook records, before a delivery has an effect, that a webhook is the caller.
func knownHook(ctx context.Context, sp *space, hook Webhook) error {
	return transport.Known(ctx, access.Principal{Namespace: sp.name, Token: hook.ID, Name: "webhook " + hook.ID})
}

// runOf returns the run of a delivery, and whether it already exists.
//
// A delivery is identified by its id. GitHub does not sign the id, so for GitHub the signed part,
// the body, counts as well: within Tolerance the same body is the same delivery whatever its id,
// and a captured delivery cannot be replayed under another id (SEC18). If the id was seen long ago
// with the same body, the run is the earlier one; if it was seen with another body, the id is
// ignored.
func (sp *space) runOf(ctx context.Context, hook Webhook, id string, header http.Header, body []byte) (
	run string, known bool, err error) {
	now := storedTime(time.Now())
	key, kept := deliveryKey(hook.Mode, id, header, body)
	d, err := sp.store.Deliver(ctx, Delivery{Webhook: hook.ID, Key: key, At: now, Until: now.Add(kept)})
	if err != nil {
		return "", false, err
	}
	if hook.Mode == ModeGitHub && id != "" {
		first, err := sp.store.Deliver(ctx, Delivery{Webhook: hook.ID, Key: idKey(id), At: d.At,
			Until: now.Add(deliveriesKept)})
		if err != nil {
			return "", false, err
		}
		run = driver.DerivedRunID(first.At, "webhook", hook.ID, string(key[:]))
		if known, err := sp.runExists(ctx, run); err != nil || known {
			return run, known, err
		}
	}
	run = driver.DerivedRunID(d.At, "webhook", hook.ID, string(key[:]))
	known, err = sp.runExists(ctx, run)
	return run, known, err
}

func (sp *space) runExists(ctx context.Context, run string) (bool, error) {
	_, err := sp.service.Head(ctx, run)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// recordFailure records why deliveries of a webhook start no runs, or with "" that one did, unless
// that is stored already. Senders are not told the reason, and nobody else watches them.
func (h *Hooks) recordFailure(ctx context.Context, sp *space, hook Webhook, reason string) {
	if hook.Error == reason {
		return
	}
	_, err := sp.store.SetWebhook(context.WithoutCancel(ctx), hook.ID, func(w *Webhook) error {
		if w.ID == "" {
			return ErrNone // deleted
		}
		w.Failed, w.Error = time.Time{}, reason
		if reason != "" {
			w.Failed = storedTime(time.Now())
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrNone) {
		h.cfg.Logger.Warn("outcome of a webhook not stored", "webhook", hook.ID, "namespace", sp.name, "err", err)
	}
}

// disable prevents a webhook from starting what is later stored under its workflow's id.
func (h *Hooks) disable(ctx context.Context, sp *space, id, reason string) error {
	_, err := sp.store.SetWebhook(ctx, id, func(w *Webhook) error {
		if w.ID == "" {
			return ErrNone
		}
		if w.Disabled.IsZero() {
			w.Disabled, w.Reason = storedTime(time.Now()), reason
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrNone) {
		return err
	}
	return &disabledError{reason}
}
