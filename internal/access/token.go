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

// Bounds (SEC17). A token or namespace beyond them is refused with a *LimitError.
const (
	// MaxTokens bounds the tokens of one namespace, expired ones included until they are revoked.
	MaxTokens = 1000
	// MaxNamespaces bounds the namespaces of a store: each is a file that a server holds open.
	MaxNamespaces = 256
	// MaxName bounds the name of a token, in characters.
	MaxName = 100
)

var (
	// ErrUnknownToken says that a text is no token that may be used now. The client is not told why.
	ErrUnknownToken = errors.New("unknown, revoked or expired token")
	// ErrNone says that the namespace has no token of that id.
	ErrNone = errors.New("no such token")
	// ErrNoNamespace says that no namespace of that name exists.
	ErrNoNamespace = errors.New("no such namespace")
	// ErrNotGranted says that a principal may not make a token as it was asked for.
	ErrNotGranted = errors.New("a token cannot have rights that its creator does not have")
)

// InvalidError says what is wrong with a request for a token, a name of a namespace, or a cursor. Nothing was changed.
type InvalidError struct{ Message string }

func (e *InvalidError) Error() string { return e.Message }

func invalidf(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// LimitError names the limit that a request would go beyond. Nothing was changed.
type LimitError struct{ Limit string }

func (e *LimitError) Error() string { return "at most " + e.Limit }

// ErrFullTokens and ErrFullNamespaces are the limits of stores.
var (
	ErrFullTokens     = &LimitError{fmt.Sprintf("%d tokens per namespace; revoke some", MaxTokens)}
	ErrFullNamespaces = &LimitError{fmt.Sprintf("%d namespaces per store", MaxNamespaces)}
)

// Token is what is known of an access token: everything but its text. Times are UTC, in microseconds; zero is never.
type Token struct {
	// ID names the token where it is revoked and in the audit log. It is no secret, and is never used again.
	ID string
	// Name is what people call it; several may have the same.
	Name      string
	Namespace string
	Role      Role
	// Approve: see [Principal].
	Approve bool
	Created time.Time
	Expires time.Time
	// Used is when it was used last, to within UsedEvery.
	Used time.Time
}

// Principal is who shows the token.
func (t Token) Principal() Principal {
	return Principal{Token: t.ID, Name: t.Name, Namespace: t.Namespace, Role: t.Role, Approve: t.Approve}
}

// IsExpired tells whether the token had ended at a time.
func (t Token) IsExpired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Grant is what a token is asked for with.
type Grant struct {
	// Name is 1 to MaxName printable characters.
	Name string
	// Namespace is made with its first token; "" is DefaultNamespace.
	Namespace string
	Role      Role
	Approve   bool
	// Expires is when the token ends; zero: never.
	Expires time.Time
}

// check gives the grant with its defaults. Errors: *InvalidError.
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

// CheckNamespace tells whether a name is one of a namespace: [a-z0-9] and then up to 62 of [a-z0-9-]. So no name is a path, and none is another one
// where the file system does not tell cases apart (SEC16). Errors: *InvalidError.
func CheckNamespace(name string) error {
	ok := name != "" && len(name) <= 63 && name[0] != '-'
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-')
	}
	if !ok {
		return invalidf("invalid namespace %q: it must have 1 to 63 of the characters a-z, 0-9 and -, and must not begin with -", cut(name, 80))
	}
	return nil
}

// prefix begins every token, so that scanners for leaked secrets know one.
const prefix = "hk_"

// textBytes are those of a token's text: 256 random bits.
const textBytes = 32

// textLen is the length of a token's text.
var textLen = len(prefix) + base64.RawURLEncoding.EncodedLen(textBytes)

// Hash is what is kept of a token's text: its SHA-256.
//
// A text has 256 random bits, so its hash needs neither salt nor a slow function: there is no dictionary to try. A token is found by its hash, in an
// index. How long that takes may tell how much of a stored hash agrees with the one that was computed; but a client cannot choose what their hashes
// begin with but by trying, and learns nothing of a text from the beginning of its hash. So no comparison here depends on secret text.
type Hash [sha256.Size]byte

// HashOf gives the hash of a text. ok tells whether the text has the form of a token; one that has not belongs to no principal.
func HashOf(text string) (h Hash, ok bool) {
	if len(text) != textLen || !strings.HasPrefix(text, prefix) {
		return Hash{}, false
	}
	return sha256.Sum256([]byte(text)), true
}

// newText makes the text of a token. It never fails: crypto/rand ends the process before it gives bytes that are not random.
func newText() string {
	var b [textBytes]byte
	_, _ = rand.Read(b[:])
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// newID makes the id of a token.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// cut shortens a text to at most n bytes, of whole characters, all of them valid.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
