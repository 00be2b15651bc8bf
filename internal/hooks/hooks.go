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

// Config says what hooks are made of.
type Config struct {
	// Service gives the service of a namespace. An error that it gives for an unknown namespace is told to nobody.
	Service func(ctx context.Context, namespace string) (*service.Service, error)
	// Store gives the store that lies in the file of a service; nil, or a nil Store: one in memory, as long as the service is the same.
	Store func(s *service.Service) Store
	// PublicURL is the address at which people and senders reach the server, without a slash at its end. "": no approve links are made.
	PublicURL string
	// Endpoints are the operator's, of the namespace default.
	Endpoints []Endpoint
	// Secrets resolves references.
	Secrets secret.Resolver
	// Send makes requests to endpoints: those of the operator, whose addresses are allowed, and those that were made through the API (SEC8).
	Operator, Guarded *http.Client
	// MaxBody bounds the body of a delivery; 0: MaxBody.
	MaxBody int64
	// Pace says how notifications are sent; its zero value is good.
	Pace Pace
	// Logger; nil: none.
	Logger *slog.Logger
}

// Hooks are incoming webhooks, notifications and approve links of all namespaces of a server. Safe for concurrent use.
type Hooks struct {
	cfg Config

	mu     sync.Mutex
	spaces map[string]*space
}

// space is what belongs to one namespace.
type space struct {
	name    string
	service *service.Service
	store   Store
	vault   *Vault
}

// New makes Hooks. Errors: a PublicURL that is none.
func New(cfg Config) (*Hooks, error) {
	if cfg.Service == nil {
		return nil, errors.New("hooks: there is no way to a service")
	}
	cfg.PublicURL = strings.TrimRight(cfg.PublicURL, "/")
	if u, err := url.Parse(cfg.PublicURL); cfg.PublicURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("hooks: the public address %q is no URL", cfg.PublicURL)
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
	return &Hooks{cfg: cfg, spaces: map[string]*space{}}, nil
}

// space gives what belongs to a namespace. Errors: those of Config.Service; a key that cannot be used.
func (h *Hooks) space(ctx context.Context, namespace string) (*space, error) {
	s, err := h.cfg.Service(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return h.spaceOf(namespace, s)
}

// spaceOf is space where the service is known.
func (h *Hooks) spaceOf(namespace string, s *service.Service) (*space, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if sp := h.spaces[namespace]; sp != nil && sp.service == s {
		return sp, nil
	}
	sp := &space{name: namespace, service: s}
	if h.cfg.Store != nil {
		sp.store = h.cfg.Store(s)
	}
	if sp.store == nil {
		sp.store, sp.vault = &Memory{}, NewVault()
	} else {
		var err error
		if sp.vault, err = OpenVault(KeyPath(s.DB())); err != nil {
			return nil, err
		}
	}
	h.spaces[namespace] = sp
	return sp, nil
}

// keys gives the keys of secrets that hold now. One that cannot be had is left out and logged: the others still count.
func (h *Hooks) keys(sp *space, id string, mode Mode, secrets []Secret, now time.Time) [][]byte {
	var keys [][]byte
	for _, s := range secrets {
		if !s.holds(now) {
			continue
		}
		text, err := h.secretText(sp, id, s)
		if err == nil {
			var key []byte
			if key, err = keyOf(mode, text); err == nil {
				keys = append(keys, key)
			}
		}
		if err != nil {
			h.cfg.Logger.Error("secret cannot be used", "of", id, "namespace", sp.name, "err", err)
		}
	}
	return keys
}

func (h *Hooks) secretText(sp *space, id string, s Secret) (string, error) {
	if s.Ref != "" {
		return h.cfg.Secrets.Value(s.Ref)
	}
	return sp.vault.Open(id, s.Sealed)
}

// Path gives the path of a webhook's address.
func Path(namespace string, w Webhook) string {
	if namespace == "" || namespace == access.DefaultNamespace {
		return "/hooks/" + w.Path
	}
	return "/hooks/" + namespace + "/" + w.Path
}

// URL gives the address of a webhook, or its path where nobody said where the server is.
func (h *Hooks) URL(namespace string, w Webhook) string {
	return h.cfg.PublicURL + Path(namespace, w)
}
