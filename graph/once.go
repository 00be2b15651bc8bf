package graph

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/program"
)

// Once does a sub-step of a node function and keeps what it gave: fn is called, and its value is in the run's journal before Once returns. Called
// again with the same key in the same execution of the node, by a later attempt after a failure or by another process after a crash, Once gives
// that value and does not call fn. So a node that does several things that must not be done twice does each in a Once of its own:
//
//	charge, err := graph.Once(ctx, "charge", func(ctx context.Context) (Charge, error) { return pay(ctx, order) })
//	if err != nil {
//		return graph.Result[State]{}, err
//	}
//	mail, err := graph.Once(ctx, "mail", func(ctx context.Context) (string, error) { return send(ctx, charge) })
//
// A process that dies between the end of fn and its value being on disk leaves no trace of the call: fn is called once more then. What fn asks of others
// should carry [Context.Key] and the key, so that they can tell.
//
// ctx is the context of the node function or one made from it. With any other, in tests of a node function say, Once just calls fn.
//
// The key names the sub-step within this execution of the node: other executions, in a loop say, and other runs have keys of their own. It is UTF-8
// of 1 to 256 bytes, without zero bytes. Of calls with the same key at the same time one calls fn, and the others wait and get what it gave, its error too; later calls, in
// the same attempt too, get the value. fn may call Once with other keys, which are noted by themselves; its own key inside of fn is an error.
//
// T must survive JSON: Once returns what is left of the value after encoding and decoding, the first time as every other time.
//
// Errors: an error of fn is given as it is and not kept, so that the next attempt tries again. Once the step is not this process's any more, because the
// run was cancelled, interrupted or taken over, or its time is over, Once fails with the error of ctx; what fn gives in spite of an interruption is kept
// while there is time. A bad key, more than 1,000 keys in one execution, more than 16 MiB of values in one execution, and a value that JSON cannot hold are
// errors that say so; of the last two the work of fn is done, and lost. A panic of fn is an error too, and the attempt fails whatever the function makes
// of it; nothing is kept.
//
// Safe for concurrent use.
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
