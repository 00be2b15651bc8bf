package hookdata

import (
	"crypto/sha256"
	"time"
)

// Type is what a notification is about, in the words of events.
type Type string

// Mode is how the sender of a webhook shows that it is who it says.
type Mode string

// Webhook is a transport for one sender: what it sends starts a run of a published workflow (SEC18, P38).
type Webhook struct {
	// ID names it to people and programs. It is no secret, and opens nothing.
	ID string `json:"id"`
	// Path is the last part of its address: 128 random bits, base64url.
	Path string `json:"path"`
	// Workflow is the id of a stored workflow; Branch is "" for its main graph.
	Workflow string `json:"workflow"`
	Branch   string `json:"branch,omitempty"`
	// Signal is the name of the signal that a delivery sends to a run of the workflow; "": a delivery starts a run. RunAt is the JSON pointer to the id of that run in the body.
	Signal string `json:"signal,omitempty"`
	RunAt  string `json:"runAt,omitempty"`
	Name   string `json:"name,omitempty"`
	Mode   Mode   `json:"mode"`
	// Header is that of ModeToken; "" otherwise.
	Header string `json:"header,omitempty"`
	// Secrets hold at present or will soon be gone, the newest first.
	Secrets []Secret  `json:"secrets"`
	Created time.Time `json:"created"`
	// CreatedBy is the name of the token that made it, or "" for the command line.
	CreatedBy string `json:"createdBy,omitempty"`
	// Disabled is when its workflow was deleted, and Reason says so; a workflow that is stored under that id later does not revive it. Zero: it is not.
	Disabled time.Time `json:"disabled,omitzero"`
	Reason   string    `json:"reason,omitempty"`
}

// Secret is one secret of a webhook or an endpoint: a reference that the operator gave, or one that was made here, sealed.
type Secret struct {
	Ref    string `json:"ref,omitempty"`
	Sealed []byte `json:"sealed,omitempty"`
	// Until is when it ceases to hold; zero: it holds until the next rotation.
	Until time.Time `json:"until,omitzero"`
}

// Holds tells whether the secret is to be tried at a time.
func (s Secret) Holds(now time.Time) bool { return s.Until.IsZero() || now.Before(s.Until) }

// Digest is by what a path is looked for, so that how long the search takes tells nothing about paths.
func (w Webhook) Digest() [sha256.Size]byte { return PathDigest(w.Path) }

// PathDigest is the digest of a webhook's path.
func PathDigest(path string) [sha256.Size]byte { return sha256.Sum256([]byte("hook path\x00" + path)) }

// Endpoint is a URL that is notified of what happens to runs.
type Endpoint struct {
	// ID is made of the name for those of the operator's file.
	ID string `json:"id"`
	// Name is what people call it; "" is fine.
	Name string `json:"name,omitempty"`
	URL  string `json:"url"`
	// Secrets sign, all that hold at present, so that the receiver may change over at its own time.
	Secrets []Secret `json:"secrets"`
	// On says which types; empty: all. Workflows says of which workflows, by id or name; empty: of all.
	On        []Type   `json:"on,omitempty"`
	Workflows []string `json:"workflows,omitempty"`
	// Children tells of runs too that other runs started.
	Children bool `json:"children,omitempty"`
	// ApproveLinks puts links into notifications of waits; each holder of a link may answer (SEC12).
	ApproveLinks bool      `json:"approveLinks,omitempty"`
	Created      time.Time `json:"created,omitzero"`
	CreatedBy    string    `json:"createdBy,omitempty"`
	// Operator: the operator named it in hocket.yaml, so its address is not checked (SEC8).
	Operator bool `json:"operator,omitempty"`
}
