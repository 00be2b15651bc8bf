package hooks

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/secret"
)

// Types of notifications.
const (
	TypeWaitOpened   Type = "wait.opened"
	TypeWaitReminded Type = "wait.reminded"
	TypeWaitAnswered Type = "wait.answered"
	TypeWaitClosed   Type = "wait.closed"
	TypeRunCompleted Type = "run.completed"
	TypeRunFailed    Type = "run.failed"
	TypeRunCancelled Type = "run.cancelled"
	// TypeScheduleRefused is about a schedule, not about a run.
	TypeScheduleRefused Type = "schedule.refused"
)

// Types returns all types. The caller owns the slice.
func Types() []Type {
	return []Type{TypeWaitOpened, TypeWaitReminded, TypeWaitAnswered, TypeWaitClosed, TypeRunCompleted, TypeRunFailed,
		TypeRunCancelled, TypeScheduleRefused}
}

// OperatorEndpoint returns the endpoint for an entry in hocket.yaml, or an error that says what is
// wrong with it.
func OperatorEndpoint(e Endpoint, secretRef string) (Endpoint, error) {
	e.ID, e.Operator, e.Secrets = "op_"+e.Name, true, []Secret{{Ref: secretRef}}
	err := secret.Check(secretRef)
	if err == nil {
		err = checkEndpoint(&e)
	}
	if err != nil {
		return e, fmt.Errorf("notifications: %s: %w", e.Name, err)
	}
	return e, nil
}

// labelOf returns the display name of the endpoint.
func labelOf(e *Endpoint) string {
	switch {
	case e.Operator:
		return fmt.Sprintf("%q (server.notifications of hocket.yaml)", e.Name)
	case e.Name != "":
		return fmt.Sprintf("%s (%q)", e.ID, e.Name)
	}
	return e.ID
}

// maxURL is the maximum length of an endpoint's URL.
const maxURL = 2000

func checkEndpoint(e *Endpoint) error {
	u, err := url.Parse(e.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || len(e.URL) > maxURL:
		return errors.New("the url of an endpoint must begin with https:// or http:// and have a host")
	case u.User != nil:
		return errors.New("the url of an endpoint must not have a password: requests are signed")
	case u.Fragment != "":
		return errors.New("the url of an endpoint must not have a fragment")
	case len(e.Name) > maxName:
		return fmt.Errorf("the name has %d bytes; the limit is %d", len(e.Name), maxName)
	}
	for _, t := range e.On {
		if !slices.Contains(Types(), t) {
			return fmt.Errorf("on: unknown type %q; known: %s", t, joined(Types()))
		}
	}
	return nil
}

func joined(types []Type) string {
	words := make([]string, len(types))
	for i, t := range types {
		words[i] = string(t)
	}
	return strings.Join(words, ", ")
}

// wants reports whether the endpoint is to be notified of an event.
func wants(e *Endpoint, t Type, child bool, workflow ...string) bool {
	if len(e.On) > 0 && !slices.Contains(e.On, t) || child && !e.Children {
		return false
	}
	return len(e.Workflows) == 0 || slices.ContainsFunc(workflow, func(w string) bool {
		return w != "" && slices.Contains(e.Workflows, w)
	})
}

// storedTime returns a time in the precision of stores.
func storedTime(t time.Time) time.Time { return hookdata.Micro(t) }
