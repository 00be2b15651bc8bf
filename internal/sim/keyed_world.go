package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
)

// ByContent makes the answers of a world, and whether a call fails at first, depend on the content
// of the request and not on the key of the call, whose numbers depend on the order in which other
// calls end. Two runs of one workflow then get the same replies in any order. Call ByContent before
// the world is used.
func (w *World) ByContent() {
	models, funcs := w.Model, w.Func
	w.Model = func(ctx context.Context, q model.Request) (model.Reply, error) {
		q.IdempotencyKey = fmt.Sprint(q.Node, len(q.Messages), q.LastText())
		return models(ctx, q)
	}
	w.Func = func(ctx context.Context, run string, c *engine.CallFunc, rec driver.Caller) engine.FuncResult {
		asked := *c
		asked.Key = fmt.Sprint(c.Node, string(c.Input))
		return funcs(ctx, run, &asked, rec)
	}
	w.eachTool(func(do func(context.Context, tool.Call) (tool.Result, error)) func(context.Context, tool.Call) (
		tool.Result, error) {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			c.Key = fmt.Sprint(c.Node, string(c.Arguments))
			return do(ctx, c)
		}
	})
}

// Apart makes each call of a world take an additional time that is unique to it, derived from
// order. Call Apart before the world is used, and after ByContent.
func (w *World) Apart(order uint64) {
	var mu sync.Mutex
	taken := map[time.Duration]bool{}
	wait := func(ctx context.Context, key string) error {
		d := time.Duration(Hash(order, key)%1e6) * time.Microsecond
		mu.Lock()
		for taken[d] {
			d++
		}
		taken[d] = true
		mu.Unlock()
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	models, funcs := w.Model, w.Func
	w.Model = func(ctx context.Context, q model.Request) (model.Reply, error) {
		if err := wait(ctx, q.IdempotencyKey); err != nil {
			return model.Reply{}, err
		}
		return models(ctx, q)
	}
	w.Func = func(ctx context.Context, run string, c *engine.CallFunc, rec driver.Caller) engine.FuncResult {
		_ = wait(ctx, c.Key) // the function notices the cancellation itself
		return funcs(ctx, run, c, rec)
	}
	w.eachTool(func(do func(context.Context, tool.Call) (tool.Result, error)) func(context.Context, tool.Call) (
		tool.Result, error) {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if err := wait(ctx, c.Key); err != nil {
				return tool.Result{}, err
			}
			return do(ctx, c)
		}
	})
}

// eachTool wraps each tool with around.
func (w *World) eachTool(around func(func(context.Context, tool.Call) (tool.Result, error)) func(context.Context,
	tool.Call) (tool.Result, error)) {
	for name, one := range w.Tools {
		one.Do = around(one.Do)
		w.Tools[name] = one
	}
}
