package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// UsedEvery is how far Token.Used may lie back: a token that is busy costs one write in that time, not one a request.
const UsedEvery = 10 * time.Minute

// Config is what Tokens are made of. Only Store must be set.
type Config struct {
	Store Store
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Tokens issues tokens and tells who shows one. Safe for concurrent use.
type Tokens struct {
	store Store
	now   func() time.Time
}

// NewTokens makes Tokens.
func NewTokens(c Config) *Tokens {
	t := &Tokens{store: c.Store, now: c.Now}
	if t.now == nil {
		t.now = time.Now
	}
	return t
}

// Create makes a token and its text, which is given here and never again.
//
// Errors: *InvalidError, *LimitError, those of the store; then nothing was made.
func (t *Tokens) Create(ctx context.Context, g Grant) (text string, made Token, err error) {
	now := t.now().UTC().Truncate(time.Microsecond)
	if g, err = g.check(now); err != nil {
		return "", Token{}, err
	}
	text = newText()
	h, _ := HashOf(text)
	made = Token{ID: newID(), Name: g.Name, Namespace: g.Namespace, Role: g.Role, Approve: g.Approve, Created: now, Expires: g.Expires.UTC().Truncate(time.Microsecond)}
	if g.Expires.IsZero() {
		made.Expires = time.Time{}
	}
	if err := t.store.Add(ctx, made, h); err != nil {
		return "", Token{}, fmt.Errorf("create token: %w", err)
	}
	return text, made, nil
}

// Find tells who shows a text. Errors: ErrUnknownToken, whatever the reason; those of the store.
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
		// That it was used is worth no failed request: a store that cannot write says so where something is to be kept.
		_ = t.store.Touch(ctx, found.Namespace, found.ID, now)
	}
	return found.Principal(), nil
}

// ByID gives the principal of a token by its id, which is no secret. Errors: ErrUnknownToken where it cannot be used now; those of the store.
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

// Any tells whether there is a token that may be used now, in any namespace (SEC1).
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

// NameFirst is what the token of First is called.
const NameFirst = "first"

// First makes the token of a fresh install: it has every right in DefaultNamespace, and does not expire. Errors: those of Create.
func (t *Tokens) First(ctx context.Context) (text string, err error) {
	text, _, err = t.Create(ctx, Grant{Name: NameFirst, Role: RoleAdmin, Approve: true})
	return text, err
}

// MayGrant tells whether a principal may make a token: with no right that the principal does not have, and in another namespace only as an admin of
// DefaultNamespace. So no token can be used to get the right to approve (SEC12), nor into another namespace (SEC10). Errors: ErrNotGranted with the reason.
func (p Principal) MayGrant(g Grant) error {
	switch {
	case !p.May(RoleAdmin):
		return fmt.Errorf("%w: only admins create tokens", ErrNotGranted)
	case !p.MayUse(g.Namespace):
		return fmt.Errorf("%w: tokens of other namespaces need an admin of the namespace %s", ErrNotGranted, DefaultNamespace)
	case g.Approve && !p.Approve:
		return fmt.Errorf("%w: a token with the right approve needs a creator with that right", ErrNotGranted)
	}
	return nil
}

// MayUse tells whether a principal may manage the tokens, and read the audit log, of a namespace; "" is the principal's own. The role is asked for elsewhere.
func (p Principal) MayUse(namespace string) bool {
	return namespace == "" || namespace == p.Namespace || p.Namespace == DefaultNamespace
}

// Strongest gives the principal of the token of a namespace that has most rights, of several the one that was made first, for a person who may use the store as a whole.
// Errors: ErrUnknownToken where no token can be used now; those of the store.
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
		if best == nil || k.Role != best.Role && k.Principal().May(best.Role) || k.Role == best.Role && k.Approve && !best.Approve {
			best = &list[i]
		}
	}
	if best == nil {
		return Principal{}, ErrUnknownToken
	}
	return best.Principal(), nil
}
