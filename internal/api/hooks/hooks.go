package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
)

// Config is the configuration of hooks.
type Config struct {
	// Service returns the service of a namespace. Its error for an unknown namespace is not
	// disclosed to the caller.
	Service func(ctx context.Context, namespace string) (*service.Service, error)
	// PublicURL is the address at which people and senders reach the server, without a trailing
	// slash. If "", no approve links are created.
	PublicURL string
	// Endpoints holds the operator's endpoints, in the namespace default.
	Endpoints []Endpoint
	// Secrets resolves references.
	Secrets secret.Resolver
	// Operator and Guarded send requests to endpoints: Operator to the operator's endpoints, whose
	// addresses are allowed, and Guarded to those created through the API (SEC8).
	Operator, Guarded *http.Client
	// Refused returns an error if Guarded would reject an address, so that the creator of an
	// endpoint gets the error immediately. If nil, the error occurs when something is sent.
	Refused func(ctx context.Context, url string) error
	// MaxBody is the maximum size of a delivery's body in bytes; 0 means the constant MaxBody.
	MaxBody int64
	// Pace specifies how notifications are sent; its zero value is ready to use.
	Pace Pace
	// Count is called with the outcome of a delivery to a webhook ([CountDelivery]: accepted,
	// not_found, invalid, disabled, busy, failed) and of an attempt to send a notification
	// ([CountTry]: delivered, dropped, failed, dead). It may be called by several goroutines
	// concurrently. If nil, nothing is counted.
	Count func(what, result string)
	// Logger may be nil.
	Logger *slog.Logger
}

// The values of what in Config.Count.
const (
	CountDelivery = "delivery"
	CountTry      = "try"
)

func (h *Hooks) count(what, result string) {
	if h.cfg.Count != nil {
		h.cfg.Count(what, result)
	}
}

// Backlog returns how many notifications of a namespace are to be sent, and how many were given up
// on.
func (h *Hooks) Backlog(ctx context.Context, namespace string, s *service.Service) (pending, dead int, err error) {
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return 0, 0, err
	}
	return sp.store.Backlog(ctx)
}

// collectTime bounds the creation of notifications in Pending.
const collectTime = 10 * time.Second

// Pending creates the notifications of what has happened in a namespace, and returns how many are
// to be sent.
func (h *Hooks) Pending(ctx context.Context, namespace string, s *service.Service) (int, error) {
	sp, err := h.spaceOf(namespace, s)
	if err != nil {
		return 0, err
	}
	last, err := s.LastNotice(ctx)
	if err != nil {
		return 0, err
	}
	limited, cancel := context.WithTimeout(ctx, collectTime) // the last one may be pruned meanwhile
	defer cancel()
	err = h.collect(limited, sp, make(chan struct{}, 1), int64(last))
	if err != nil && !errors.Is(err, ErrMoved) {
		return 0, err
	}
	n, _, err := sp.store.Backlog(ctx)
	return n, err
}

// Hooks serves incoming webhooks, notifications and approve links of all namespaces of a server. It
// is safe for concurrent use.
type Hooks struct {
	cfg Config

	mu     sync.Mutex
	spaces map[string]*space
	// broken holds the secrets that could not be used when they were last needed, with the reason,
	// by namespace and id. Each is logged once.
	broken map[[2]string]string
}

// space holds what belongs to one namespace.
type space struct {
	name    string
	service *service.Service
	store   Store

	opening sync.Mutex
	vault   *Vault // nil until first needed
}

// openVault returns the vault with the namespace's key, which is read, or created, when first
// needed: read-only callers do not need it, and work even when the disk is full. It returns an
// error if the key cannot be used or created.
func (sp *space) openVault() (*Vault, error) {
	sp.opening.Lock()
	defer sp.opening.Unlock()
	if sp.vault == nil {
		key, err := sp.service.Home().Key()
		if err != nil {
			return nil, err
		}
		if sp.vault, err = NewVault(key); err != nil {
			return nil, err
		}
	}
	return sp.vault, nil
}

// New returns new Hooks, or an error if PublicURL is invalid. An unusable secret of an operator's
// endpoint is not an error: it is logged, and may become available later.
func New(cfg Config) (*Hooks, error) {
	if cfg.Service == nil {
		return nil, errors.New("hooks: Service is nil")
	}
	cfg.PublicURL = strings.TrimRight(cfg.PublicURL, "/")
	if u, err := url.Parse(cfg.PublicURL); cfg.PublicURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" &&
		u.Scheme != "http") {
		return nil, fmt.Errorf("hooks: invalid public URL %q", cfg.PublicURL)
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = MaxBody
	}
	if cfg.Secrets.Env == nil {
		cfg.Secrets.Env = os.Getenv
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Pace = cfg.Pace.withDefaults()
	h := &Hooks{cfg: cfg, spaces: map[string]*space{}, broken: map[[2]string]string{}}
	for i := range cfg.Endpoints {
		_, _ = h.keysOf(&space{name: access.DefaultNamespace}, &cfg.Endpoints[i], time.Now()) // it logs errors
	}
	return h, nil
}

// space returns the data of a namespace, or the errors of Config.Service.
func (h *Hooks) space(ctx context.Context, namespace string) (*space, error) {
	s, err := h.cfg.Service(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return h.spaceOf(namespace, s)
}

// spaceOf is like space if the service is already known.
func (h *Hooks) spaceOf(namespace string, s *service.Service) (*space, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if sp := h.spaces[namespace]; sp != nil && sp.service == s {
		return sp, nil
	}
	sp := &space{name: namespace, service: s, store: s.Home().Hooks}
	h.spaces[namespace] = sp
	return sp, nil
}

// keys returns the keys of the currently valid secrets. The error says why some are unavailable;
// the others are still returned. It is logged once, with the owner of the secrets, until they can
// be used again.
func (h *Hooks) keys(sp *space, id, what string, mode Mode, secrets []Secret, now time.Time) (
	keys [][]byte, err error) {
	for _, s := range secrets {
		if !s.Holds(now) {
			continue
		}
		text, wrong := h.secretText(sp, id, s)
		if wrong == nil {
			var key []byte
			if key, wrong = keyOf(mode, text); wrong == nil {
				keys = append(keys, key)
			}
		}
		err = errors.Join(err, wrong)
	}
	if reason := h.recordBroken(sp.name, id, err); reason != "" {
		h.cfg.Logger.Error("secret not usable", "of", what, "namespace", sp.name, "err", reason)
	}
	return keys, err
}

// recordBroken records why the secrets of id cannot be used, and returns the reason if it was not
// recorded before.
func (h *Hooks) recordBroken(namespace, id string, err error) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := [2]string{namespace, id}
	if err == nil {
		delete(h.broken, at)
		return ""
	}
	reason := oneLine(err.Error())
	if h.broken[at] == reason {
		return ""
	}
	h.broken[at] = reason
	return reason
}

// keysOf returns the keys that sign messages to an endpoint.
func (h *Hooks) keysOf(sp *space, e *Endpoint, now time.Time) ([][]byte, error) {
	return h.keys(sp, e.ID, "the notification endpoint "+labelOf(e), ModeStandard, e.Secrets, now)
}

func (h *Hooks) secretText(sp *space, id string, s Secret) (string, error) {
	if s.Ref != "" {
		return h.cfg.Secrets.Value(s.Ref)
	}
	vault, err := sp.openVault()
	if err != nil {
		return "", err
	}
	return vault.Open(id, s.Sealed)
}

// Path returns the path of a webhook's address.
func Path(namespace string, w Webhook) string {
	if namespace == "" || namespace == access.DefaultNamespace {
		return "/hooks/" + w.Path
	}
	return "/hooks/" + namespace + "/" + w.Path
}

// URL returns the address of a webhook, or its path if the server's URL is not configured.
func (h *Hooks) URL(namespace string, w Webhook) string {
	return h.cfg.PublicURL + Path(namespace, w)
}
