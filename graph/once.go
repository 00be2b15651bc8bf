package graph

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/program"
)

// Once runs a sub-step of a node function and stores its result: it calls fn, and the value is in
// the run's journal before Once returns. If called again with the same key in the same execution of
// the node, by a later attempt after a failure or by another process after a crash, Once returns
// that value without calling fn. A node that does several things that must not be done twice should
// therefore do each in a separate Once:
//
//	charge, err := graph.Once(ctx, "charge", func(ctx context.Context) (Charge, error) { return pay(ctx, order) })
//	if err != nil {
//		return graph.Result[State]{}, err
//	}
//	mail, err := graph.Once(ctx, "mail", func(ctx context.Context) (string, error) { return send(ctx, charge) })
//
// If the process dies after fn has returned but before its value is on disk, the call leaves no
// trace, and fn is called once more. Requests that fn makes to other services should therefore
// carry [Context.Key] and the key, so that duplicates can be detected.
//
// ctx must be the context of the node function or one derived from it. With any other context, for
// example in tests of a node function, Once merely calls fn.
//
// The key names the sub-step within this execution of the node: other executions, for example in a
// loop, and other runs have their own keys. It is UTF-8 of 1 to 256 bytes, without zero bytes. If
// several calls use the same key concurrently, one calls fn, and the others wait for its result or
// error; later calls, even in the same attempt, return the value. fn may call Once with other keys,
// which are stored separately; using its own key inside fn is an error.
//
// T must survive JSON: Once always returns the value after encoding and decoding it, including the
// first time.
//
// An error of fn is returned unchanged and not stored, so that the next attempt tries again. Once
// the step no longer belongs to this process, because the run was cancelled, interrupted or taken
// over, or its time is up, Once returns the error of ctx; what fn returns despite an interruption
// is still stored if there is time. Once also returns an error for an invalid key, for more than
// 1,000 keys or more than 16 MiB of values in one execution, and for a value that JSON cannot
// represent; in the last two cases fn has been executed and its result is lost. A panic of fn is an
// error, too, and the attempt fails regardless of how the function handles it; nothing is stored.
//
// Once is safe for concurrent use.
func Once[T any](ctx context.Context, key string, fn func(context.Context) (T, error)) (T, error) {
	by := program.CallerOf(ctx)
	if by == nil || by.Notes() == nil {
		return fn(ctx)
	}
	var zero T
	raw, err := by.Notes().Once(ctx, key, func(ctx context.Context, by program.Caller) (program.Value, error) {
		v, err := fn(program.WithCaller(ctx, by))
		if err != nil {
			return nil, err
		}
		raw, err := encodeValue(v)
		if err == nil {
			err = json.Unmarshal(raw, new(T))
		}
		if err != nil {
			return nil, fmt.Errorf("once %q: the value cannot be converted to JSON and back: %w", key, err)
		}
		return raw, nil
	})
	if err != nil {
		return zero, err
	}
	var v T
	if raw == nil {
		raw = program.Value("null")
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return zero, fmt.Errorf("once %q: decode the stored value: %w", key, err)
	}
	return v, nil
}
