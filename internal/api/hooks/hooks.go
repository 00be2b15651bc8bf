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
	// Service gives the service of a namespace. An error that it gives for an unknown namespace is not shown to the caller.
	Service func(ctx context.Context, namespace string) (*service.Service, error)
	// PublicURL is the address at which people and senders reach the server, without a slash at its end. "": no approve links are made.
	PublicURL string
	// Endpoints are the operator's, of the namespace default.
	Endpoints []Endpoint
	// Secrets resolves references.
	Secrets secret.Resolver
	// Operator and Guarded make requests to endpoints: those of the operator, whose addresses are allowed, and those that were made through the API (SEC8).
	Operator, Guarded *http.Client
	// Refused tells whether Guarded would refuse an address, so that the maker of an endpoint gets the error at once; nil: it is seen when something is sent.
	Refused func(ctx context.Context, url string) error
	// MaxBody bounds the body of a delivery; 0: MaxBody.
	MaxBody int64
	// Pace says how notifications are sent; its zero value is good.
	Pace Pace
	// Count is told what became of a delivery to a webhook ([CountDelivery]: accepted, not_found, invalid, disabled, busy, failed) and of a try to send a notification
	// ([CountTry]: delivered, dropped, failed, dead). It is called by several goroutines at once; nil: nothing is counted.
	Count func(what, result string)
	// Logger; nil: none.
	Logger *slog.Logger
}

// What Config.Count counts.
const (
	CountDelivery = "delivery"
	CountTry      = "try"
)

func (h *Hooks) count(what, result string) {
	if h.cfg.Count != nil {
		h.cfg.Count(what, result)
	}
}

// Backlog gives how many notifications of a namespace are to be sent, and how many were given up on.
func (h *Hooks) Backlog(ctx context.Context, namespace string) (pending, dead int, err error) {
	sp, err := h.space(ctx, namespace)
	if err != nil {
		return 0, 0, err
	}
	return sp.store.Backlog(ctx)
}

// Hooks are incoming webhooks, notifications and approve links of all namespaces of a server. Safe for concurrent use.
type Hooks struct {
	cfg Config

	mu     sync.Mutex
	spaces map[string]*space
	// broken are the secrets that could not be used when they were needed last, with the reason: each is told to the log once. By namespace and id.
	broken map[[2]string]string
}

// space is what belongs to one namespace.
type space struct {
	name    string
	service *service.Service
	store   Store

	opening sync.Mutex
	vault   *Vault // nil until it is needed first
}

// sealed gives the vault with the namespace's key, which is read, or made, when it is needed first: who only looks needs none, and gets along with a full disk. Errors: the key cannot be
// used, or made.
func (sp *space) sealed() (*Vault, error) {
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

// New makes Hooks. Errors: a PublicURL that is none. A secret of an operator's endpoint that cannot be used is no error: it is logged, and may come later.
func New(cfg Config) (*Hooks, error) {
	if cfg.Service == nil {
		return nil, errors.New("hooks: Service is nil")
	}
	cfg.PublicURL = strings.TrimRight(cfg.PublicURL, "/")
	if u, err := url.Parse(cfg.PublicURL); cfg.PublicURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
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
		_, _ = h.keysOf(&space{name: access.DefaultNamespace}, &cfg.Endpoints[i], time.Now()) // it logs what is wrong
	}
	return h, nil
}

// space gives what belongs to a namespace. Errors: those of Config.Service.
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
	sp := &space{name: namespace, service: s, store: s.Home().Hooks}
	h.spaces[namespace] = sp
	return sp, nil
}

// keys gives the keys of secrets that hold now. The error says why some cannot be had: the others still count. It is logged once, with what has the secrets, until
// they can be used again.
func (h *Hooks) keys(sp *space, id, what string, mode Mode, secrets []Secret, now time.Time) (keys [][]byte, err error) {
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
	if reason := h.news(sp.name, id, err); reason != "" {
		h.cfg.Logger.Error("secret not usable", "of", what, "namespace", sp.name, "err", reason)
	}
	return keys, err
}

// news keeps why the secrets of id cannot be used, and gives that where it was not known.
func (h *Hooks) news(namespace, id string, err error) string {
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

// keysOf gives the keys that sign what an endpoint is told.
func (h *Hooks) keysOf(sp *space, e *Endpoint, now time.Time) ([][]byte, error) {
	return h.keys(sp, e.ID, "the notification endpoint "+labelOf(e), ModeStandard, e.Secrets, now)
}

func (h *Hooks) secretText(sp *space, id string, s Secret) (string, error) {
	if s.Ref != "" {
		return h.cfg.Secrets.Value(s.Ref)
	}
	vault, err := sp.sealed()
	if err != nil {
		return "", err
	}
	return vault.Open(id, s.Sealed)
}

// Path gives the path of a webhook's address.
func Path(namespace string, w Webhook) string {
	if namespace == "" || namespace == access.DefaultNamespace {
		return "/hooks/" + w.Path
	}
	return "/hooks/" + namespace + "/" + w.Path
}

// URL gives the address of a webhook, or its path where the server's URL is not configured.
func (h *Hooks) URL(namespace string, w Webhook) string {
	return h.cfg.PublicURL + Path(namespace, w)
}
