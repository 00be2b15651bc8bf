package sim

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
)

// Behave returns the world for workflows of [Generate]: models, tools and functions with sub-steps
// that take time, fail now and then, and whose answers depend on the request. A call that failed
// once by chance succeeds when it is repeated.
func Behave(seed uint64) *World { return behave(&behaviour{seed: seed, failed: map[string]bool{}}) }

// BehaveAtOnce returns the same world without delays, for runs in real time.
func BehaveAtOnce(seed uint64) *World {
	return behave(&behaviour{seed: seed, failed: map[string]bool{}, noDelay: true})
}

func behave(b *behaviour) *World {
	w := &World{
		Model: b.model,
		Tools: map[string]Tool{
			"read": {Policy: tool.PolicyRetry, Do: b.tool},
			"act":  {Policy: tool.PolicyAsk, Do: b.tool},
		},
	}
	w.Func = func(ctx context.Context, run string, c *engine.CallFunc, rec driver.Caller) engine.FuncResult {
		return b.function(ctx, w, run, c, rec)
	}
	return w
}

type behaviour struct {
	seed    uint64
	noDelay bool // calls take no time

	mu     sync.Mutex
	failed map[string]bool
}

// hash returns a number derived from the seed and the words.
func (b *behaviour) hash(words ...string) uint64 { return Hash(b.seed, words...) }

// Hash returns a number derived from seed and words.
func Hash(seed uint64, words ...string) uint64 {
	h := fnv.New64a()
	var s [8]byte
	binary.LittleEndian.PutUint64(s[:], seed)
	h.Write(s[:])
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	x := h.Sum64() // FNV mixes the low bits poorly; mix as SplitMix64 does
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// delay waits for a while: for most calls a short time, for some none, for some a long time.
func (b *behaviour) delay(ctx context.Context, key string) error {
	if b.noDelay {
		return ctx.Err()
	}
	h := b.hash("delay", key)
	d := time.Duration(h%400) * time.Millisecond
	switch h >> 32 % 10 {
	case 0:
		return ctx.Err()
	case 1:
		d *= 20
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fails reports whether the call fails this time.
func (b *behaviour) fails(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed[key] || b.hash("fail", key)%5 != 0 {
		return false
	}
	b.failed[key] = true
	return true
}

func (b *behaviour) model(ctx context.Context, q model.Request) (model.Reply, error) {
	if err := b.delay(ctx, q.IdempotencyKey); err != nil {
		return model.Reply{}, err
	}
	if b.fails(q.IdempotencyKey) {
		after := time.Second
		if b.noDelay {
			after = 0
		}
		return model.Reply{}, &model.Error{Kind: model.KindOverloaded, Message: "try again", RetryAfter: after}
	}
	kind, _, _ := strings.Cut(q.Agent, "-")
	last := q.LastText()
	h := b.hash(q.Node, last)
	switch {
	case kind == "tools" && q.Messages[len(q.Messages)-1].Role == chat.RoleUser && h%3 > 0:
		reply := model.Reply{Message: chat.Message{Role: chat.RoleAssistant},
			Usage: &chat.Usage{InputTokens: 1, OutputTokens: 1}}
		for i := range 1 + h%2 {
			args, _ := json.Marshal(map[string]string{"q": fmt.Sprint(h, i)})
			name := []string{"read", "act"}[(h>>8+i)%2]
			reply.Message.ToolCalls = append(reply.Message.ToolCalls,
				chat.ToolCall{ID: fmt.Sprintf("t%d", i), Name: name, Arguments: args})
		}
		return reply, nil
	case kind == "loop":
		n := passes(last)
		if n < b.hash("passes", q.Node)%4 {
			return Reply("again#%d %s", n+1, short(h)), nil
		}
	}
	return Reply("%s", short(h)), nil
}

func short(h uint64) string { return strconv.FormatUint(h%1e9, 10) }

// passes parses the number of loop iterations from the text that is passed around the loop.
func passes(text string) uint64 {
	_, rest, ok := strings.Cut(text, "again#")
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseUint(digits, 10, 64)
	return n
}

func (b *behaviour) tool(ctx context.Context, c tool.Call) (tool.Result, error) {
	if err := b.delay(ctx, c.Key); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: short(b.hash("tool", c.Name, string(c.Arguments)))}, nil
}

// function runs some sub-steps and returns their results.
func (b *behaviour) function(ctx context.Context, w *World, run string, c *engine.CallFunc,
	rec driver.Caller) engine.FuncResult {
	var parts []string
	for i := range b.hash("sub-steps", c.Node, string(c.Input)) % 4 {
		key := fmt.Sprintf("k%d", i)
		v, err := w.Once(run, c, rec, key, func() (event.Value, error) {
			if err := b.delay(ctx, c.Key+key); err != nil {
				return nil, err
			}
			if b.fails(c.Key + key) {
				return nil, errors.New("try again")
			}
			return json.Marshal(short(b.hash("sub-step", c.Node, string(c.Input), key)))
		})
		if err != nil {
			return engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc, Message: err.Error(),
				Retryable: true}}
		}
		parts = append(parts, string(v))
	}
	out, err := json.Marshal(strings.Join(parts, " "))
	if err != nil {
		return engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc, Message: err.Error()}}
	}
	return engine.FuncResult{Output: out}
}
