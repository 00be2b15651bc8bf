package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
)

// The kinds of requests in the inbox.
const (
	requestAnswer = "answer"
	requestCancel = "cancel"
)

// request is the stored form of an answer or a cancellation.
type request struct {
	Wait      string      `json:"wait,omitempty"`
	Value     event.Value `json:"value,omitempty"`
	Arguments event.Value `json:"arguments,omitempty"`
	Note      string      `json:"note,omitempty"`
	Key       string      `json:"key,omitempty"`
	By        event.Actor `json:"by,omitzero"`
	Trace     string      `json:"trace,omitempty"`
	Signal    string      `json:"signal,omitempty"`
	Reason    string      `json:"reason,omitempty"`
}

func encodeRequest(data engine.InputData) (kind string, body []byte, err error) {
	switch d := data.(type) {
	case engine.Answer:
		kind = requestAnswer
		body, err = json.Marshal(request{Wait: d.Wait, Value: d.Value, Arguments: d.Arguments, Note: d.Note, Key: d.Key,
			By: d.By, Trace: d.Trace, Signal: d.Signal})
	case engine.Cancel:
		kind = requestCancel
		body, err = json.Marshal(request{Reason: d.Reason})
	default:
		err = fmt.Errorf("%T cannot be sent to another process", data)
	}
	return kind, body, err
}

func decodeRequest(kind string, body []byte) (engine.InputData, error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	switch kind {
	case requestAnswer:
		return engine.Answer{Wait: r.Wait, Value: r.Value, Arguments: r.Arguments, Note: r.Note, Key: r.Key, By: r.By,
			Trace: r.Trace, Signal: r.Signal}, nil
	case requestCancel:
		return engine.Cancel{Reason: r.Reason}, nil
	}
	return nil, fmt.Errorf("unknown request kind %q", kind)
}

// result is the stored outcome of a request; an empty Code is success.
type result struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// codes maps names to the errors that must be the same on both sides of the inbox. It is never
// written to.
var codes = map[string]error{
	"ended":          engine.ErrEnded,
	"wait_not_found": waits.ErrNotFound,
	"wait_ambiguous": waits.ErrAmbiguous,
	"wait_answered":  waits.ErrAnswered,
	"wait_closed":    waits.ErrClosed,
	"answer":         waits.ErrAnswer,
	"wait_role":      waits.ErrRole,
	"wait_signal":    waits.ErrSignalWait,
	"signal_name":    waits.ErrSignalName,
	"signal":         waits.ErrSignal,
	"signals_full":   waits.ErrSignalsFull,
	"not_reopenable": engine.ErrNotReopenable,
}

const codeOther = "other"

func encodeResult(err error) []byte {
	r := result{}
	if err != nil {
		r = result{Code: codeOther, Message: err.Error()}
		for code, known := range codes {
			if errors.Is(err, known) {
				r.Code = code
			}
		}
	}
	body, _ := json.Marshal(r) // two strings always encode
	return body
}

// remoteError is a rejection by another process, in its words.
type remoteError struct {
	message string
	known   error
}

func (e *remoteError) Error() string { return e.message }
func (e *remoteError) Unwrap() error { return e.known }

func decodeResult(body []byte) error {
	var r result
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("read result of request: %w", err)
	}
	if r.Code == "" {
		return nil
	}
	return &remoteError{message: r.Message, known: codes[r.Code]}
}

// receive takes requests as they arrive, as long as runs are driven here. Requests that arrived
// before a run was claimed are taken when it is loaded.
func (d *Driver) receive() {
	requests := d.subscribe(journal.OfRequests())
	defer requests.stop()
	for {
		_ = requests.wait(d.work, d.work) // closing the driver ends the loop below
		d.mu.Lock()
		if len(d.runs) == 0 || d.closed {
			d.receiving = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		d.takeRequests()
	}
}

// takeRequests delivers requests to the actors of the runs that are driven here.
func (d *Driver) takeRequests() {
	d.taking.Lock() // a loader waits until taken requests are in its mailbox
	defer d.taking.Unlock()
	requests, err := d.cfg.Store.Take(d.root)
	if err != nil {
		d.cfg.Logger.Warn("cannot check for requests", "err", err)
		return
	}
	for _, q := range requests {
		d.serve(q)
	}
}

// serve executes a request and stores the result. A request that cannot be settled now, or not
// here, stays for the run's next owner.
func (d *Driver) serve(q journal.Request) {
	settle := func(err error) {
		_, noKit := errors.AsType[*kitError](err)
		_, bad := errors.AsType[*driver.QuarantineError](err)
		if noKit || bad || errors.Is(err, driver.ErrClosed) || errors.Is(err, journal.ErrOwned) ||
			errors.Is(err, journal.ErrFenced) {
			return
		}
		d.wg.Go(func() { d.settle(q, encodeResult(err)) })
	}
	data, err := decodeRequest(q.Kind, q.Data)
	if err != nil {
		settle(err)
		return
	}
	if err := d.post(q.Run, &message{data: data, postedAt: q.At, done: settle}); err != nil {
		settle(err)
	}
}

// settle stores the result of a request, retrying until the store accepts it: the caller waits for
// it as long as this process lives.
func (d *Driver) settle(q journal.Request, result []byte) {
	var b backoff
	for {
		err := d.cfg.Store.Settle(d.root, q.ID, result)
		if err == nil {
			return
		}
		d.cfg.Logger.Warn("settle request", "run", q.Run, "err", err)
		if held.IsPermanent(err) || b.wait(d.work) != nil {
			return
		}
	}
}

// send sends an answer or a cancellation to the owner of the run (D16).
//
//  1. No process owns the run, or this one does: it is handled here.
//  2. Another process owns it: the request goes into the inbox, and send waits for the result.
//  3. That process releases the run or dies before it has seen the request: back to 1. If it has
//     seen the request after all, asking twice is harmless (P24).
//  4. All processes hold the run in common: it is handled here, unless its functions are in another
//     program, which receives the request through the inbox.
//  5. The request is an answer, and the run's functions are in a program that does not drive it
//     now: the answer stays in the inbox.
func (d *Driver) send(ctx context.Context, run string, data engine.InputData) error {
	var id uint64
	for {
		if a, ok := data.(engine.Answer); ok {
			done, err := d.deposit(ctx, run, a, id)
			if done || err != nil {
				return err
			}
		}
		err := d.ask(ctx, run, &message{data: data})
		if isCommon(err) {
			err = d.askCommon(ctx, run, data)
		}
		if errors.Is(err, errElsewhere) {
			continue // its owner has just left it
		}
		if !errors.Is(err, journal.ErrOwned) && !errors.Is(err, journal.ErrFenced) {
			if id != 0 && !errors.Is(err, driver.ErrClosed) && ctx.Err() == nil {
				if e := d.cfg.Store.Settle(ctx, id, encodeResult(err)); e != nil {
					d.cfg.Logger.Warn("settle request", "run", run, "err", e)
				}
			}
			return err
		}
		if id == 0 {
			kind, body, err := encodeRequest(data)
			if err != nil {
				return err
			}
			if id, err = d.cfg.Store.Post(ctx, journal.Request{Run: run, Kind: kind, Data: body,
				At: d.now()}); err != nil {
				return fmt.Errorf("ask the owner of run %s: %w", run, err)
			}
		}
		if done, err := d.await(ctx, run, id); done || err != nil {
			return err
		}
	}
}

// await waits for the result of a request; done is false if the run no longer has a living owner.
func (d *Driver) await(ctx context.Context, run string, id uint64) (done bool, err error) {
	changes := d.subscribe(journal.OfRequests(), journal.OfRun(run))
	defer changes.stop()
	for {
		body, done, err := d.cfg.Store.Result(ctx, id)
		if err != nil {
			return false, fmt.Errorf("ask the owner of run %s: %w", run, err)
		}
		if done {
			return true, decodeResult(body)
		}
		head, err := d.cfg.Store.Head(ctx, run)
		if err != nil {
			return false, err
		}
		if head.Owner == "" {
			return false, nil
		}
		alive, err := d.cfg.Store.Alive(ctx, head.Owner)
		if err != nil {
			return false, err
		}
		if !alive {
			return false, nil
		}
		if err := changes.wait(ctx, d.root); err != nil {
			return false, err
		}
	}
}
