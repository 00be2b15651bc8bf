package hooks

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/secret"
)

// Modes of webhooks.
const (
	// ModeStandard is Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature,
	// HMAC-SHA256 over id, timestamp and body. It is the default, and the only mode with a time: an
	// old delivery is rejected.
	ModeStandard Mode = "standard"
	// ModeGitHub is GitHub's scheme: X-Hub-Signature-256 over the body, X-GitHub-Delivery as the
	// delivery's id.
	ModeGitHub Mode = "github"
	// ModeToken is a secret in a configurable header, for senders that support nothing better. The
	// body is not signed.
	ModeToken Mode = "token"
)

// Modes returns all modes. The caller owns the slice.
func Modes() []Mode { return []Mode{ModeStandard, ModeGitHub, ModeToken} }

// DefaultTokenHeader is the default header of ModeToken.
const DefaultTokenHeader = "X-Webhook-Token" //nolint:gosec // the name of a header

// Limits of incoming webhooks.
const (
	// MaxBody is the default maximum size of a delivery's body in bytes (SEC17), see
	// Config.MaxBody.
	MaxBody = 1 << 20
	// Tolerance is the maximum difference between the time of a ModeStandard delivery and the
	// server's time.
	Tolerance = 5 * time.Minute
	// MaxSecrets is the maximum number of simultaneously valid secrets of a webhook: the current
	// one and, after a rotation, the previous one.
	MaxSecrets = 2
	// DefaultOverlap is how long the previous secret remains valid after a rotation.
	DefaultOverlap = 24 * time.Hour
	maxOverlap     = 30 * 24 * time.Hour
	minSecret      = 16
	maxName        = 200
)

// pathForm is the form of paths: 16 bytes in base64url.
var pathForm = regexp.MustCompile(`^[A-Za-z0-9_-]{22}$`)

func newPath() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func newID(prefix string) string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return prefix + hex.EncodeToString(b[:])
}

// secretPrefix is the prefix of secrets in the form of Standard Webhooks.
const secretPrefix = "whsec_"

// newSecret returns a new secret of 256 random bits.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// CreateRequest specifies the webhook to create.
type CreateRequest struct {
	// Workflow is the id of a published workflow; Branch is one of its branches, "" for the main
	// graph.
	Workflow, Branch string
	// Signal makes deliveries signals of that name to runs of the workflow, instead of starting
	// runs; RunAt is the JSON pointer to the id of the run in the body, "" for DefaultRunAt.
	Signal, RunAt string
	// Name is the display name; it may be "".
	Name string
	// Mode defaults to ModeStandard. Header is the header of ModeToken; "" means
	// DefaultTokenHeader.
	Mode   Mode
	Header string
	// SecretRef refers to the secret, as in hocket.yaml; if "", a secret is generated.
	SecretRef string
	// By is the name of the creator.
	By string
}

func (q *CreateRequest) check() error {
	if q.Mode == "" {
		q.Mode = ModeStandard
	}
	switch {
	case q.Workflow == "":
		return errors.New("a webhook needs a workflow")
	case !slices.Contains(Modes(), q.Mode):
		return fmt.Errorf("unknown mode %q; known: standard, github, token", q.Mode)
	case len(q.Name) > maxName:
		return fmt.Errorf("the name has %d bytes; the limit is %d", len(q.Name), maxName)
	case q.Header != "" && q.Mode != ModeToken:
		return fmt.Errorf("header needs mode token; mode %s has fixed headers", q.Mode)
	}
	if err := q.checkSignal(); err != nil {
		return err
	}
	if q.Mode == ModeToken {
		if q.Header == "" {
			q.Header = DefaultTokenHeader
		}
		if q.Header = textproto.CanonicalMIMEHeaderKey(q.Header); !headerForm.MatchString(q.Header) ||
			slices.Contains(reservedHeaders, q.Header) {
			return fmt.Errorf("header %q cannot be used for a token", q.Header)
		}
	}
	if q.SecretRef != "" {
		if err := secret.Check(q.SecretRef); err != nil {
			return fmt.Errorf("secret: %w", err)
		}
	}
	return nil
}

var headerForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}$`)

// reservedHeaders lists headers that have another meaning for servers and proxies.
var reservedHeaders = []string{"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Cookie",
	"Te",
	"Trailer", "Upgrade", "Expect"}

// keyOf returns the signing key for a secret. In ModeStandard a secret is base64 after whsec_; an
// operator's secret in any other form is used unchanged.
func keyOf(mode Mode, text string) ([]byte, error) {
	key := []byte(text)
	if mode == ModeStandard {
		if rest, ok := strings.CutPrefix(text, secretPrefix); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(rest); err != nil {
				return nil, errors.New("the secret begins with whsec_, but the rest is not valid base64")
			}
		}
	}
	if len(key) < minSecret {
		return nil, fmt.Errorf("the secret has %d bytes; at least %d are needed", len(key), minSecret)
	}
	return key, nil
}
