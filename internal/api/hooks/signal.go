package hooks

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/workflow"
)

// DefaultRunAt is the default location, in a body, of the id of the run that a signal is for.
const DefaultRunAt = "/run"

// maxRunAt is the maximum length of a JSON pointer, in bytes.
const maxRunAt = 400

func (q *CreateRequest) checkSignal() error {
	switch {
	case q.Signal == "" && q.RunAt == "":
		return nil
	case q.Signal == "":
		return errors.New("runAt needs a signal")
	case !workflow.SignalName(q.Signal):
		return fmt.Errorf("%q is no name of a signal; it has letters, digits, `.`, `_` and `-`, at most %d", q.Signal,
			workflow.MaxSignalName)
	case q.Branch != "":
		return errors.New("a webhook that sends a signal starts no branch")
	}
	if q.RunAt == "" {
		q.RunAt = DefaultRunAt
	}
	if !strings.HasPrefix(q.RunAt, "/") || len(q.RunAt) > maxRunAt {
		return fmt.Errorf("runAt %q is no JSON pointer such as /order/run", q.RunAt)
	}
	return nil
}

// signal sends the signal of a delivery to the run that its body names. The body is signed, so a
// captured delivery reaches no other run. The delivery is identified by its id, or, if no id is
// signed, by its body: the same delivery is the same signal.
//
// It returns a *disabledError; an *unsupportedError or a *malformedError, including if the id is
// not that of a run of the workflow; or errors of service.Service.Signal.
func (h *Hooks) signal(ctx context.Context, sp *space, hook Webhook, id string, header http.Header, body []byte) (
	run string, err error) {
	if !hook.Disabled.IsZero() {
		return "", &disabledError{hook.Reason}
	}
	input, err := inputOf(header, body)
	if err != nil {
		return "", err
	}
	run, ok := textAt(json.RawMessage(input), hook.RunAt)
	if !ok {
		return "", &malformedError{"the body has no id of a run at " + hook.RunAt}
	}
	head, err := sp.service.Head(ctx, run)
	switch {
	case errors.Is(err, journal.ErrNotFound) || err == nil && head.Workflow != hook.Workflow:
		return "", &malformedError{"the id at " + hook.RunAt + " is none of a run of the workflow"}
	case err != nil:
		return "", err
	}
	if err := knownHook(ctx, sp, hook); err != nil {
		return "", err
	}
	key, _ := deliveryKey(hook.Mode, id, header, body)
	caller := &op.Caller{Caller: &transport.Caller{Principal: access.Principal{Name: "webhook " + hook.ID,
		Role: access.RoleRun}, Service: sp.service}, Channel: event.ChannelWebhook,
		Record: func(action, target string) { transport.RecordAction(ctx, action, target) }}
	if _, err = op.SignalRun.Do(ctx, caller, &op.SignalIn{RunPath: op.RunPath{ID: run}, Name: hook.Signal,
		Key: hook.ID + "." + hex.EncodeToString(key[:]), Body: &op.SignalBody{Value: []byte(input)}}); err != nil {
		return "", err
	}
	transport.RecordAction(ctx, "webhooks.deliver", hook.ID)
	return run, nil
}

// textAt returns the string at a JSON pointer; ok is false if there is none.
func textAt(v json.RawMessage, pointer string) (string, bool) {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(v, &object) == nil && object != nil {
			v = object[unescape.Replace(part)]
			continue
		}
		i, err := strconv.Atoi(part)
		if err != nil || json.Unmarshal(v, &list) != nil || i < 0 || i >= len(list) {
			return "", false
		}
		v = list[i]
	}
	var text string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &text) != nil || text == "" {
		return "", false
	}
	return text, true
}
