package hookdata

import (
	"crypto/sha256"
	"time"
)

// Type is what a notification is about, named after the event.
type Type string

// Mode is how the sender of a webhook authenticates itself.
type Mode string

// Webhook is an entry point for one sender: its deliveries start runs of a published workflow, or
// send signals to them (SEC18, P38).
type Webhook struct {
	// ID identifies the webhook to people and programs. It is not secret, and grants no access.
	ID string `json:"id"`
	// Path is the last part of the webhook's address: 128 random bits, base64url.
	Path string `json:"path"`
	// Workflow is the id of a stored workflow; Branch is "" for the main graph.
	Workflow string `json:"workflow"`
	Branch   string `json:"branch,omitempty"`
	// Signal is the name of the signal that a delivery sends to a run of the workflow, and RunAt
	// the JSON pointer to that run's id in the body. If Signal is "", a delivery starts a run.
	Signal string `json:"signal,omitempty"`
	RunAt  string `json:"runAt,omitempty"`
	Name   string `json:"name,omitempty"`
	Mode   Mode   `json:"mode"`
	// Header is the header of ModeToken; "" otherwise.
	Header string `json:"header,omitempty"`
	// Secrets are valid now or until their expiry, newest first.
	Secrets []Secret  `json:"secrets"`
	Created time.Time `json:"created"`
	// CreatedBy is the name of the token that created it, or "" for the command line.
	CreatedBy string `json:"createdBy,omitempty"`
	// Disabled is when its workflow was deleted, as stated in Reason; a workflow that is later
	// stored under that id does not revive it. The zero time means that it is enabled.
	Disabled time.Time `json:"disabled,omitzero"`
	Reason   string    `json:"reason,omitempty"`
	// Failed is since when deliveries start no runs for the reason Error; zero means that the last
	// one started a run, or that there was none.
	Failed time.Time `json:"failed,omitzero"`
	Error  string    `json:"error,omitempty"`
}

// Secret is a secret of a webhook or an endpoint: a reference provided by the operator, or a
// generated secret, encrypted.
type Secret struct {
	Ref    string `json:"ref,omitempty"`
	Sealed []byte `json:"sealed,omitempty"`
	// Until is when it expires; the zero time means that it is valid until the next rotation.
	Until time.Time `json:"until,omitzero"`
}

// Holds reports whether the secret is valid at time now.
func (s Secret) Holds(now time.Time) bool { return s.Until.IsZero() || now.Before(s.Until) }

// Digest returns the digest by which a path is looked up, so that the time of the lookup reveals
// nothing about paths.
func (w Webhook) Digest() [sha256.Size]byte { return PathDigest(w.Path) }

// PathDigest returns the digest of a webhook's path.
func PathDigest(path string) [sha256.Size]byte { return sha256.Sum256([]byte("hook path\x00" + path)) }

// Endpoint is a URL that is notified of events in runs.
type Endpoint struct {
	// ID is derived from the name for endpoints in the operator's file.
	ID string `json:"id"`
	// Name is the display name; it may be "".
	Name string `json:"name,omitempty"`
	URL  string `json:"url"`
	// Secrets sign messages: all valid secrets sign, so that the receiver can switch over at any
	// time.
	Secrets []Secret `json:"secrets"`
	// On selects the types; empty means all. Workflows selects workflows, by id or name; empty
	// means all.
	On        []Type   `json:"on,omitempty"`
	Workflows []string `json:"workflows,omitempty"`
	// Children includes child runs.
	Children bool `json:"children,omitempty"`
	// ApproveLinks includes links in notifications of waits; every holder of a link may answer
	// (SEC12).
	ApproveLinks bool      `json:"approveLinks,omitempty"`
	Created      time.Time `json:"created,omitzero"`
	CreatedBy    string    `json:"createdBy,omitempty"`
	// Operator means that the operator configured the endpoint in hocket.yaml, so its address is
	// not checked (SEC8).
	Operator bool `json:"operator,omitempty"`
}
