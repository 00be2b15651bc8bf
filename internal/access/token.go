package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits (SEC17). A token or namespace beyond them is rejected with a *LimitError.
const (
	// MaxTokens is the maximum number of tokens in one namespace, including expired ones until they
	// are revoked.
	MaxTokens = 1000
	// MaxNamespaces is the maximum number of namespaces in a store: each is a file that a server
	// holds open.
	MaxNamespaces = 256
	// MaxName is the maximum length of a token's name, in characters.
	MaxName = 100
)

var (
	// ErrUnknownToken is returned when a string is not a currently valid token. The client is not
	// told why.
	ErrUnknownToken = errors.New("unknown, revoked or expired token")
	// ErrNone is returned when the namespace has no token with that id.
	ErrNone = errors.New("no such token")
	// ErrNoNamespace is returned when no namespace with that name exists.
	ErrNoNamespace = errors.New("no such namespace")
	// ErrNotGranted is returned when a principal may not create the requested token.
	ErrNotGranted = errors.New("a token cannot have rights that its creator does not have")
)

// InvalidError describes what is wrong with a request for a token, the name of a namespace, or a
// cursor. Nothing was changed.
type InvalidError struct{ Message string }

func (e *InvalidError) Error() string { return e.Message }

func invalidf(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// LimitError names the limit that a request would exceed. Nothing was changed.
type LimitError struct{ Limit string }

func (e *LimitError) Error() string { return "at most " + e.Limit }

// ErrFullTokens and ErrFullNamespaces are returned when a limit of the store is reached.
var (
	ErrFullTokens     = &LimitError{fmt.Sprintf("%d tokens per namespace; revoke some", MaxTokens)}
	ErrFullNamespaces = &LimitError{fmt.Sprintf("%d namespaces per store", MaxNamespaces)}
)

// Token describes an access token, except for its plaintext. Times are UTC, in microseconds; zero
// means never.
type Token struct {
	// ID identifies the token for revocation and in the audit log. It is not secret, and is never
	// reused.
	ID string
	// Name is the token's display name; several tokens may have the same name.
	Name      string
	Namespace string
	Role      Role
	// Approve is as in [Principal].
	Approve bool
	Created time.Time
	Expires time.Time
	// Used is when the token was last used, to within UsedEvery.
	Used time.Time
}

// Principal returns the principal that presents the token.
func (t Token) Principal() Principal {
	return Principal{Token: t.ID, Name: t.Name, Namespace: t.Namespace, Role: t.Role, Approve: t.Approve}
}

// IsExpired reports whether the token had expired at time now.
func (t Token) IsExpired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Grant is the specification of a requested token.
type Grant struct {
	// Name has 1 to MaxName printable characters.
	Name string
	// Namespace is created with its first token; "" means DefaultNamespace.
	Namespace string
	Role      Role
	Approve   bool
	// Expires is when the token expires; zero means never.
	Expires time.Time
}

// check returns the grant with its defaults, or an *InvalidError.
func (g Grant) check(now time.Time) (Grant, error) {
	if g.Namespace == "" {
		g.Namespace = DefaultNamespace
	}
	if err := CheckNamespace(g.Namespace); err != nil {
		return g, err
	}
	switch {
	case g.Name == "":
		return g, invalidf("a token needs a name")
	case utf8.RuneCountInString(g.Name) > MaxName:
		return g, invalidf("the name of a token can have at most %d characters", MaxName)
	case !utf8.ValidString(g.Name) || strings.ContainsFunc(g.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return g, invalidf("the name of a token must consist of printable characters")
	case !g.Role.IsKnown():
		return g, invalidf("unknown role %q; known: run, edit, admin", g.Role)
	case !g.Expires.IsZero() && !g.Expires.After(now):
		return g, invalidf("the expiry time is in the past")
	}
	return g, nil
}

// CheckNamespace returns an *InvalidError unless name is a valid namespace: [a-z0-9] followed by up
// to 62 of [a-z0-9-]. So no name is a path, and no two names collide on a case-insensitive file
// system (SEC16).
func CheckNamespace(name string) error {
	ok := name != "" && len(name) <= 63 && name[0] != '-'
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !ok {
		return invalidf("invalid namespace %q: it must have 1 to 63 of the characters a-z, 0-9 and -, and must not "+
			"begin with -", truncate(name, 80))
	}
	return nil
}

// prefix is the prefix of every token, so that scanners for leaked secrets recognize one.
const prefix = "hk_"

// textBytes is the number of random bytes in a token: 256 bits.
const textBytes = 32

// textLen is the length of a token.
var textLen = len(prefix) + base64.RawURLEncoding.EncodedLen(textBytes)

// Hash is the stored form of a token: its SHA-256.
//
// A token has 256 random bits, so its hash needs neither salt nor a slow function: there is no
// dictionary to try. A token is looked up by its hash, in an index. The time of the lookup may
// reveal how much of a stored hash agrees with the computed one; but a client can only choose the
// prefix of its hash by trial, and learns nothing about a token from the prefix of its hash. So no
// comparison here depends on a secret.
type Hash [sha256.Size]byte

// HashOf returns the hash of a string. ok reports whether the string has the form of a token;
// otherwise it belongs to no principal.
func HashOf(text string) (h Hash, ok bool) {
	if len(text) != textLen || !strings.HasPrefix(text, prefix) {
		return Hash{}, false
	}
	return sha256.Sum256([]byte(text)), true
}

// newText returns a new random token. It never fails: crypto/rand crashes the process rather than
// return nonrandom bytes.
func newText() string {
	var b [textBytes]byte
	_, _ = rand.Read(b[:])
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// newID returns a new token id.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// truncate truncates a string to at most n bytes of complete, valid characters.
func truncate(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
