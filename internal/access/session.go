package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Lives of what a browser signs in with.
const (
	// SessionLife is how long a session lasts at most; that of a token which ends before ends with it.
	SessionLife = 30 * 24 * time.Hour
	// CodeLife is how long a one-time code can be used.
	CodeLife = 10 * time.Minute
	// MaxSessions bounds the sessions and codes of one token (SEC17). Where there are as many, the oldest one ends.
	MaxSessions = 100
)

// Session is what is known of the session of a browser, or of a one-time code that begins one: everything but its text. It has no rights of its own: they are
// those that its token has at the time of a request, so that the session ends with the token. Times are UTC, in microseconds.
type Session struct {
	Namespace string
	// Token is the id of the token that the session is of.
	Token string
	// Code: it begins a session, once, and is none.
	Code    bool
	Created time.Time
	Expires time.Time
}

// IsExpired tells whether the session had ended at a time.
func (s Session) IsExpired(now time.Time) bool { return !now.Before(s.Expires) }

// ErrNoSession says that a text is no session, or no code, that may be used now. The client is not told why.
var ErrNoSession = errors.New("the session, or the code of the link, is unknown, used or expired")

// SessionStore keeps sessions and codes by the hashes of their texts. Safe for concurrent use, also by several processes; what was kept is durable when a call
// returns.
type SessionStore interface {
	// Begin keeps a session. What has expired by s.Created is forgotten, and the oldest beyond MaxSessions of its token.
	Begin(ctx context.Context, s Session, h Hash) error
	// Session gives the session of a hash, expired or not. Errors: ErrNoSession; those of the store.
	Session(ctx context.Context, h Hash) (Session, error)
	// End forgets the session of a hash, and gives it: to one caller alone. Errors: ErrNoSession; those of the store.
	End(ctx context.Context, h Hash) (Session, error)
}

// Beginnings of the texts of sessions and codes.
const (
	sessionPrefix = "hks_"
	codePrefix    = "hkc_"
)

// IsCode tells whether a text has the beginning of a one-time code.
func IsCode(text string) bool { return strings.HasPrefix(text, codePrefix) }

// Finder finds a token that may be used now by its id.
type Finder interface {
	// ByID gives the principal of a token. Errors: ErrUnknownToken; those of the store.
	ByID(ctx context.Context, namespace, id string) (Principal, error)
}

// Sessions begin and end the sessions of browsers. Safe for concurrent use.
type Sessions struct {
	Store SessionStore
	// Tokens finds the tokens that sessions are of.
	Tokens Finder
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Code makes a code that begins one session with the rights of p, and tells until when. Errors: those of the store.
func (s *Sessions) Code(ctx context.Context, p Principal) (text string, until time.Time, err error) {
	return s.begin(ctx, p, codePrefix, CodeLife)
}

// Begin begins a session with the rights of p, and tells until when it lasts. Errors: those of the store.
func (s *Sessions) Begin(ctx context.Context, p Principal) (text string, until time.Time, err error) {
	return s.begin(ctx, p, sessionPrefix, SessionLife)
}

func (s *Sessions) begin(ctx context.Context, p Principal, prefix string, life time.Duration) (string, time.Time, error) {
	var b [textBytes]byte
	_, _ = rand.Read(b[:]) // it ends the process before it gives bytes that are not random
	text := prefix + base64.RawURLEncoding.EncodeToString(b[:])
	now := s.now().UTC().Truncate(time.Microsecond)
	made := Session{Namespace: p.Namespace, Token: p.Token, Code: prefix == codePrefix, Created: now, Expires: now.Add(life)}
	if err := s.Store.Begin(ctx, made, sha256.Sum256([]byte(text))); err != nil {
		return "", time.Time{}, fmt.Errorf("begin session: %w", err)
	}
	return text, made.Expires, nil
}

// Redeem uses a code up, and gives the principal for whom it begins a session. Errors: ErrNoSession, whatever the reason; those of the store.
func (s *Sessions) Redeem(ctx context.Context, code string) (Principal, error) {
	h, ok := sessionHash(code, codePrefix)
	if !ok {
		return Principal{}, ErrNoSession
	}
	found, err := s.Store.End(ctx, h)
	return s.principal(ctx, found, err, true)
}

// Find tells whose session a text is. Errors: ErrNoSession, whatever the reason; those of the store.
func (s *Sessions) Find(ctx context.Context, text string) (Principal, error) {
	h, ok := sessionHash(text, sessionPrefix)
	if !ok {
		return Principal{}, ErrNoSession
	}
	found, err := s.Store.Session(ctx, h)
	return s.principal(ctx, found, err, false)
}

// End ends the session of a text; nothing where there is none. Errors: those of the store.
func (s *Sessions) End(ctx context.Context, text string) error {
	h, ok := sessionHash(text, sessionPrefix)
	if !ok {
		return nil
	}
	if _, err := s.Store.End(ctx, h); err != nil && !errors.Is(err, ErrNoSession) {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

func (s *Sessions) principal(ctx context.Context, found Session, err error, code bool) (Principal, error) {
	switch {
	case errors.Is(err, ErrNoSession):
		return Principal{}, ErrNoSession
	case err != nil:
		return Principal{}, fmt.Errorf("find session: %w", err)
	case found.Code != code, found.IsExpired(s.now()):
		return Principal{}, ErrNoSession
	}
	p, err := s.Tokens.ByID(ctx, found.Namespace, found.Token)
	if errors.Is(err, ErrUnknownToken) {
		return Principal{}, ErrNoSession
	}
	return p, err
}

func (s *Sessions) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// sessionHash gives the hash of a text that has the form of a session or a code. Why it is enough to compare hashes is said at [Hash].
func sessionHash(text, prefix string) (Hash, bool) {
	if len(text) != len(prefix)+base64.RawURLEncoding.EncodedLen(textBytes) || !strings.HasPrefix(text, prefix) {
		return Hash{}, false
	}
	return sha256.Sum256([]byte(text)), true
}
