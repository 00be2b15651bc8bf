package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxDeliveryID is the maximum length of a sender's delivery id.
const maxDeliveryID = 256

// deliveriesKept is how long the id of a delivery is remembered.
const deliveriesKept = 90 * 24 * time.Hour

// verify reports whether a delivery is signed with one of keys, and returns its id, or "" if the
// sender sends none. It tries every key, compares in constant time, and does about the same work
// for every mode and for every outcome.
func verify(mode Mode, header string, keys [][]byte, h http.Header, body []byte) (id string, ok bool) {
	for _, key := range keys {
		var good bool
		switch mode {
		case ModeGitHub:
			id, good = verifyGitHub(key, h, body)
		case ModeToken:
			id, good = verifyToken(key, header, h, body)
		default:
			id, good = verifyStandard(key, h, body)
		}
		ok = ok || good
	}
	return id, ok
}

// verifyStandard verifies Standard Webhooks. The library compares in constant time and checks times
// against Tolerance. An id with a dot is rejected: the signed content is `id.time.body`, so that
// such a delivery could be read as another one under another id.
//
// Source: https://github.com/standard-webhooks/standard-webhooks, spec of 2023, "Signature scheme".
func verifyStandard(key []byte, h http.Header, body []byte) (string, bool) {
	wh, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return "", false
	}
	id, sound := deliveryID(h, standardwebhooks.HeaderWebhookID)
	err = wh.Verify(body, h)
	if err != nil && strings.Contains(err.Error(), "header") { // it was rejected before anything was computed
		_ = sumOf(key, body)
	}
	return id, err == nil && sound && !strings.Contains(id, ".")
}

// rejection returns why verify rejects a delivery that is not signed with a secret of its webhook,
// for the log. It reads the headers alone.
func rejection(mode Mode, header string, h http.Header, now time.Time) string {
	needed := []string{standardwebhooks.HeaderWebhookID, standardwebhooks.HeaderWebhookTimestamp,
		standardwebhooks.HeaderWebhookSignature}
	switch mode {
	case ModeGitHub:
		needed = []string{headerGitHubSignature}
	case ModeToken:
		needed = []string{header}
	}
	for _, name := range needed {
		if h.Get(name) == "" {
			return "the header " + name + " is missing"
		}
	}
	if mode == ModeToken {
		return "the header " + header + " is not a secret of the webhook"
	}
	if mode != ModeGitHub {
		seconds, err := strconv.ParseInt(h.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
		if off := now.Sub(time.Unix(seconds, 0)).Abs(); err != nil || off > Tolerance {
			return "the time of the signature is more than " + Tolerance.String() + " from that of this server"
		}
	}
	return "the signature is of no secret of the webhook, or the id of the delivery is malformed"
}

// sign returns the headers of a message in the form of Standard Webhooks.
func sign(keys [][]byte, id string, at time.Time, body []byte) (http.Header, error) {
	h := http.Header{}
	h.Set(standardwebhooks.HeaderWebhookID, id)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, decimal(at.Unix()))
	var all []string
	for _, key := range keys {
		wh, err := standardwebhooks.NewWebhookRaw(key)
		if err != nil {
			return nil, err
		}
		s, err := wh.Sign(id, at, body)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(all, " "))
	return h, nil
}

// Headers of GitHub.
const (
	headerGitHubSignature = "X-Hub-Signature-256"
	headerGitHubDelivery  = "X-Github-Delivery"
)

// verifyGitHub verifies GitHub's scheme. It signs neither the id nor a time.
//
// Source: GitHub's documentation, "Validating webhook deliveries".
func verifyGitHub(key []byte, h http.Header, body []byte) (string, bool) {
	want := sumOf(key, body)
	text, prefixed := strings.CutPrefix(h.Get(headerGitHubSignature), "sha256=")
	got, err := hex.DecodeString(text)
	same := hmac.Equal(got, want)
	id, sound := deliveryID(h, headerGitHubDelivery)
	return id, same && prefixed && err == nil && sound
}

// verifyToken compares a header with the secret. A scheme such as Bearer before the token is
// ignored. The body is hashed nevertheless, so that timing does not reveal the mode.
func verifyToken(key []byte, header string, h http.Header, body []byte) (string, bool) {
	_ = sumOf(key, body)
	text := h.Get(header)
	if header == "Authorization" {
		if _, rest, ok := strings.Cut(text, " "); ok {
			text = strings.TrimSpace(rest)
		}
	}
	got, want := sha256.Sum256([]byte(text)), sha256.Sum256(key)
	same := subtle.ConstantTimeCompare(got[:], want[:]) == 1
	id, sound := deliveryID(h, standardwebhooks.HeaderWebhookID)
	return id, same && sound
}

func sumOf(key, body []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(body)
	return m.Sum(nil)
}

// deliveryID reads the id of a delivery: one header of printable ASCII. sound is false if the
// header is present but malformed.
func deliveryID(h http.Header, name string) (id string, sound bool) {
	values := h.Values(name)
	switch {
	case len(values) == 0:
		return "", true
	case len(values) > 1 || len(values[0]) > maxDeliveryID:
		return "", false
	}
	for _, c := range []byte(values[0]) {
		if c <= ' ' || c > '~' {
			return "", false
		}
	}
	return values[0], true
}

// deliveryKey returns the key by which a delivery is recognized, and for how long. A delivery
// without an id is identified by signature, time and body, for as long as a sender would retry: the
// same content on the next day is another delivery. In ModeGitHub only the body is signed, so
// nothing else counts.
func deliveryKey(mode Mode, id string, h http.Header, body []byte) (key [sha256.Size]byte, kept time.Duration) {
	switch {
	case mode == ModeGitHub:
		return digestOf([]byte("github"), body), Tolerance
	case id != "":
		return idKey(id), deliveriesKept
	}
	return digestOf(nil, []byte(h.Get(standardwebhooks.HeaderWebhookTimestamp)),
		[]byte(h.Get(standardwebhooks.HeaderWebhookSignature)), body), Tolerance
}

// idKey returns the key by which a delivery with an id is recognized.
func idKey(id string) [sha256.Size]byte { return digestOf([]byte(id)) }

// digestOf returns a digest of parts of any length.
func digestOf(parts ...[]byte) [sha256.Size]byte {
	m := sha256.New()
	for _, b := range parts {
		_, _ = m.Write([]byte(decimal(int64(len(b))) + ":")) // writing to a hash never fails
		_, _ = m.Write(b)
	}
	return [sha256.Size]byte(m.Sum(nil))
}
