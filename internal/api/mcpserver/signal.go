package mcpserver

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
)

func signalTools() []*tool {
	return []*tool{{
		name: "signal_run", title: "Send a signal to a run", role: access.RoleRun, effect: acts,
		about: "Sends a signal to a run whose workflow waits for it by name. The step that has waited longest and " +
			"accepts the value takes it, and the run continues; a signal that no step takes yet is kept for a " +
			"later step. " +
			`get_run shows what a run waits for. Example: {"id": "RUN", "signal": "payment", "value": {"amount": 120}}`,
		takes: slices.Concat(runID, []prop{
			req("signal", aText, "The name of the signal."),
			opt("value", anything, "Any value; it is the output of the step that takes the signal. Absent: null."),
			opt("idempotencyKey", aText, "Identifies the signal: the same one again changes nothing."),
		}),
		gives: closedObject(
			req("runId", aText, "The run that has the signal: this one, or one that it started and that waits for it."),
			req("signal", aText, ""), req("key", aText, ""),
			opt("wait", aText, "The wait that took it; absent: the run keeps the signal."), opt("node", aText,
				"The step that took it; absent: the run keeps the signal."), req("next", aText, "What to do now."),
		),
		do: signalRun,
	}}
}

type signalArgs struct {
	runArgs
	Signal         string          `json:"signal"`
	Value          json.RawMessage `json:"value"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

type signalOutcome struct {
	RunID  string `json:"runId"`
	Signal string `json:"signal"`
	Key    string `json:"key"`
	Wait   string `json:"wait,omitempty"`
	Node   string `json:"node,omitempty"`
	Next   string `json:"next"`
}

func signalRun(ctx context.Context, c *call) (any, error) {
	var args signalArgs
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	out, err := c.Service.Signal(ctx, id, service.SignalRequest{Name: args.Signal, Value: args.Value,
		Key: args.IdempotencyKey, By: c.Actor(event.ChannelMCP)})
	if err != nil {
		return nil, noSuchRun(err, id)
	}
	c.recordChange(transport.ActSignal, out.Run+" "+out.Signal)
	o := signalOutcome{RunID: out.Run, Signal: out.Signal, Key: out.Key, Wait: out.Wait, Node: out.Node,
		Next: "The run continues: get_run shows it."}
	if out.Wait == "" {
		o.Next = "No step takes the signal now; the run keeps it for a later step."
	}
	return o, nil
}
