package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// UsedEvery is the granularity of Token.Used: a busy token costs one write in that time, not one
// per request.
const UsedEvery = 10 * time.Minute

// Config is the configuration of Tokens. Only Store must be set.
type Config struct {
	Store Store
	// Now returns the current time; if nil, time.Now is used.
	Now func() time.Time
}

// Tokens issues tokens and identifies their bearers. It is safe for concurrent use.
type Tokens struct {
	store Store
	now   func() time.Time
}

// NewTokens returns Tokens with the configuration c.
func NewTokens(c Config) *Tokens {
	t := &Tokens{store: c.Store, now: c.Now}
	if t.now == nil {
		t.now = time.Now
	}
	return t
}

// Create creates a token and returns its plaintext, which is never available again.
//
// It returns an *InvalidError, a *LimitError or errors from the store; nothing was created in that
// case.
func (t *Tokens) Create(ctx context.Context, g Grant) (text string, made Token, err error) {
	now := t.now().UTC().Truncate(time.Microsecond)
	if g, err = g.check(now); err != nil {
		return "", Token{}, err
	}
	text = newText()
	h, _ := HashOf(text)
	made = Token{ID: newID(), Name: g.Name, Namespace: g.Namespace, Role: g.Role, Approve: g.Approve, Created: now,
		Expires: g.Expires.UTC().Truncate(time.Microsecond)}
	if g.Expires.IsZero() {
		made.Expires = time.Time{}
	}
	if err := t.store.Add(ctx, made, h); err != nil {
		return "", Token{}, fmt.Errorf("create token: %w", err)
	}
	return text, made, nil
}

// Find returns the principal that presents a token. It returns ErrUnknownToken, whatever the
// reason, or errors from the store.
func (t *Tokens) Find(ctx context.Context, text string) (Principal, error) {
	h, ok := HashOf(text)
	if !ok {
		return Principal{}, ErrUnknownToken
	}
	found, err := t.store.Find(ctx, h)
	if err != nil {
		if errors.Is(err, ErrUnknownToken) {
			return Principal{}, ErrUnknownToken
		}
		return Principal{}, fmt.Errorf("find token: %w", err)
	}
	now := t.now()
	if found.IsExpired(now) {
		return Principal{}, ErrUnknownToken
	}
	if now.Sub(found.Used) >= UsedEvery {
		// Recording the use must not fail a request: a store that cannot write reports that when
		// something has to be stored.
		_ = t.store.Touch(ctx, found.Namespace, found.ID, now)
	}
	return found.Principal(), nil
}

// ByID returns the principal of a token by its id, which is not secret. It returns ErrUnknownToken
// if the token is not currently valid, or errors from the store.
func (t *Tokens) ByID(ctx context.Context, namespace, id string) (Principal, error) {
	found, err := t.store.Get(ctx, namespace, id)
	switch {
	case errors.Is(err, ErrUnknownToken), err == nil && found.IsExpired(t.now()):
		return Principal{}, ErrUnknownToken
	case err != nil:
		return Principal{}, fmt.Errorf("find token: %w", err)
	}
	return found.Principal(), nil
}

// Any reports whether there is a currently valid token in any namespace (SEC1).
func (t *Tokens) Any(ctx context.Context) (bool, error) {
	names, err := t.store.Namespaces(ctx)
	if err != nil {
		return false, err
	}
	now := t.now()
	for _, name := range names {
		list, err := t.store.List(ctx, name)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(list, func(k Token) bool { return !k.IsExpired(now) }) {
			return true, nil
		}
	}
	return false, nil
}

// NameFirst is the name of the token created by First.
const NameFirst = "first"

// First creates the token of a fresh install: it has every permission in DefaultNamespace, and does
// not expire. It returns the errors of Create.
func (t *Tokens) First(ctx context.Context) (text string, err error) {
	text, _, err = t.Create(ctx, Grant{Name: NameFirst, Role: RoleAdmin, Approve: true})
	return text, err
}

// MayGrant returns an error unless the principal may create the token: with no permission that the
// principal does not have, and in another namespace only as an admin of DefaultNamespace. So no
// token can be used to gain the permission to approve (SEC12), or access to another namespace
// (SEC10). The error is ErrNotGranted with the reason.
func (p Principal) MayGrant(g Grant) error {
	switch {
	case !p.May(RoleAdmin):
		return fmt.Errorf("%w: only admins create tokens", ErrNotGranted)
	case !p.MayUse(g.Namespace):
		return fmt.Errorf("%w: tokens of other namespaces need an admin of the namespace %s", ErrNotGranted,
			DefaultNamespace)
	case g.Approve && !p.Approve:
		return fmt.Errorf("%w: a token with the right approve needs a creator with that right", ErrNotGranted)
	}
	return nil
}

// MayUse reports whether a principal may manage the tokens, and read the audit log, of a namespace;
// "" means the principal's own. The role is checked elsewhere.
func (p Principal) MayUse(namespace string) bool {
	return namespace == "" || namespace == p.Namespace || p.Namespace == DefaultNamespace
}

// Strongest returns the principal of the token with the most permissions in a namespace, the oldest
// if there are several, for a person who may use the whole store. It returns ErrUnknownToken if no
// token is currently valid, or errors from the store.
func (t *Tokens) Strongest(ctx context.Context, namespace string) (Principal, error) {
	list, err := t.store.List(ctx, namespace)
	if err != nil {
		return Principal{}, fmt.Errorf("list tokens: %w", err)
	}
	now := t.now()
	var best *Token
	for i, k := range list {
		if k.IsExpired(now) {
			continue
		}
		if best == nil || k.Role != best.Role && k.Principal().May(best.Role) || k.Role == best.Role && k.Approve &&
			!best.Approve {
			best = &list[i]
		}
	}
	if best == nil {
		return Principal{}, ErrUnknownToken
	}
	return best.Principal(), nil
}
