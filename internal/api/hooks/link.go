package hooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	views "github.com/hocket-run/hocket/internal/view"
)

// LinkLife is how long an approve link is valid, unless the wait's deadline is earlier.
const LinkLife = 24 * time.Hour

// maxToken is the maximum length of a link's token.
const maxToken = 2000

// claims describes what a link is for. It opens one wait of one run, in the wait's current state,
// until it expires (SEC12).
type claims struct {
	Namespace string `json:"n"`
	Run       string `json:"r"`
	Wait      string `json:"w"`
	// Binding is the digest of everything that a person is shown and of the action that an answer
	// is bound to.
	Binding []byte `json:"b"`
	// For makes links of different endpoints and reminders distinct, so that each can be used once.
	For string `json:"f"`
	// To is the id of the endpoint that the link was sent to.
	To      string `json:"e,omitempty"`
	Expires int64  `json:"x"`
}

// nonce returns the identifier of the single use of a link.
func (c claims) nonce() string {
	text, _ := json.Marshal(c) // always encodes
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// errLink is returned for a token that this key did not sign, or that is damaged.
var errLink = errors.New("invalid approve link")

// token returns the token of a link. It is a function of the claims, so that none has to be stored
// for a second attempt.
func (v *Vault) token(c claims) string {
	text, _ := json.Marshal(c) // always encodes
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(sumOf(v.link, text))
}

// namespaceOf returns the namespace named in a token, without verifying the token.
func namespaceOf(token string) (string, error) {
	c, _, _, err := splitToken(token)
	if err == nil && !namespaceForm.MatchString(c.Namespace) {
		err = errLink
	}
	return c.Namespace, err
}

func splitToken(token string) (c claims, text, mac []byte, err error) {
	head, tail, ok := strings.Cut(token, ".")
	enc := base64.RawURLEncoding.Strict()
	if !ok || len(token) > maxToken {
		return c, nil, nil, errLink
	}
	text, terr := enc.DecodeString(head)
	mac, merr := enc.DecodeString(tail)
	if terr != nil || merr != nil || json.Unmarshal(text, &c) != nil {
		return claims{}, nil, nil, errLink
	}
	return c, text, mac, nil
}

// claims parses and verifies a token created by this Vault. It does not check the expiry. It
// returns errLink if the token is invalid.
func (v *Vault) claims(token string) (claims, error) {
	c, text, mac, err := splitToken(token)
	if err != nil || !hmac.Equal(mac, sumOf(v.link, text)) {
		return claims{}, errLink
	}
	return c, nil
}

// journaledWait is a wait as recorded in its run's journal.
type journaledWait struct {
	event.WaitOpened
	node  string
	since time.Time
	// about is the input of a wait node: the text to be approved, or the text that the question
	// follows; nil if there is none.
	about event.Value
	// answered and closed say how it ended, and when; if nil and "", it is open, unless the run has
	// ended.
	answered *event.WaitAnswered
	closed   string
	at       time.Time
}

// isOpen reports whether the wait can be answered.
func (w *journaledWait) isOpen() bool { return w.answered == nil && w.closed == "" }

// binding returns the digest of what a link is for.
func (w *journaledWait) binding(run string) []byte {
	text, _ := json.Marshal(struct { // from a journal, so it is valid JSON
		Run    string           `json:"run"`
		Node   string           `json:"node"`
		Opened event.WaitOpened `json:"opened"`
		About  event.Value      `json:"about,omitempty"`
	}{run, w.node, w.WaitOpened, w.about})
	sum := sha256.Sum256(text)
	return sum[:16]
}

// readWait reads a wait of a run. It returns journal.ErrNotFound for the run, or
// waits.ErrNotFound.
func readWait(ctx context.Context, s *service.Service, run, wait string) (
	w *journaledWait, head journal.Head, err error) {
	r, err := s.View(ctx, run)
	if err != nil {
		return nil, head, err
	}
	head = r.Head
	folder := r.Follow(project.NewFolder(run, r.Workflow))
	err = r.Each(ctx, 0, func(e event.Event) error {
		folder.Add(e)
		switch d := e.Data.(type) {
		case *event.WaitOpened:
			if d.Wait == wait {
				w = &journaledWait{node: e.Node, since: e.At, about: waitSubject(folder, wait)}
			}
		case *event.WaitAnswered:
			if w != nil && d.Wait == wait {
				w.answered, w.at = d, e.At
			}
		case *event.WaitClosed:
			if w != nil && d.Wait == wait {
				w.closed, w.at = d.Reason, e.At
			}
		}
		return nil
	})
	if err != nil {
		return nil, head, err
	}
	if w == nil {
		return nil, head, waits.ErrNotFound
	}
	if err := w.read(ctx, s, r, wait); err != nil {
		return nil, head, err
	}
	if w.isOpen() && head.Status.Ended() {
		w.closed, w.at = "ended", head.Ended
	}
	return w, head, nil
}

// read replaces the question and the answer that r returned with their complete values.
func (w *journaledWait) read(ctx context.Context, s *service.Service, r *views.Reader, wait string) error {
	opened, err := s.Opened(ctx, r.Head.Run, wait)
	if err != nil {
		return err
	}
	w.WaitOpened = *opened
	var text bytes.Buffer
	long := struct {
		About    event.Value         `json:"about,omitempty"`
		Answered *event.WaitAnswered `json:"answered,omitempty"`
	}{w.about, w.answered}
	if err := r.Write(ctx, &text, long, views.Style{}); err != nil {
		return err
	}
	long.About, long.Answered = nil, nil
	if err := json.Unmarshal(text.Bytes(), &long); err != nil {
		return err
	}
	w.about, w.answered = long.About, long.Answered
	return nil
}

// waitSubject returns what a wait is about, as of its opening.
func waitSubject(f *project.Folder, wait string) event.Value {
	o := f.Run()
	for _, w := range o.Waiting {
		if w.ID == wait {
			return w.Input
		}
	}
	return nil
}

// link returns the address at which a person answers a wait, or "" if the server's address is not
// known. It returns the errors of space.openVault.
func (h *Hooks) link(sp *space, run string, w *journaledWait, to, whose string, from time.Time) (string, error) {
	if h.cfg.PublicURL == "" {
		return "", nil
	}
	vault, err := sp.openVault()
	if err != nil {
		return "", err
	}
	expires := from.Add(LinkLife)
	if !w.Deadline.IsZero() && w.Deadline.Before(expires) {
		expires = w.Deadline
	}
	return h.cfg.PublicURL + "/approve/" + vault.token(claims{
		Namespace: sp.name, Run: run, Wait: w.Wait, Binding: w.binding(run), For: whose, To: to,
		Expires: expires.Unix(),
	}), nil
}

// linkActor returns the actor of answers through a link that was sent to an endpoint: its name, or
// its id if it has none.
func linkActor(e *Endpoint) service.Actor {
	return service.Actor{Name: cmp.Or(e.Name, e.ID), Channel: event.ChannelLink}
}

// isFor reports whether an actor has one of the wait's roles, or the wait has no roles.
func (w *journaledWait) isFor(by service.Actor) bool { return len(w.Roles) == 0 || by.HasRole(w.Roles) }

// answersBy returns the actor of an answer through a link: the name of the endpoint that the link
// was sent to, or its id if the endpoint was deleted or has no name.
func (o *openedWait) answersBy(ctx context.Context, h *Hooks) service.Actor {
	by := linkActor(&Endpoint{ID: o.To})
	endpoints, err := h.endpoints(ctx, o.space)
	if err != nil {
		return by // the id identifies it, too
	}
	for _, e := range endpoints {
		if e.ID == o.To {
			by = linkActor(&e)
		}
	}
	return by
}
