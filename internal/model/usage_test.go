package model_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// fixedClient is a client that always returns the same reply.
type fixedClient struct {
	reply model.Reply
	err   error
}

func (s fixedClient) Call(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
	return s.reply, s.err
}

// TestUsage_Plausible checks P20: the counted usage of a call is plausible, whatever is reported:
// sums of it grow with each call, never shrink and never wrap.
func TestUsage_Plausible(t *testing.T) {
	t.Parallel()
	edge := []int64{math.MinInt64, math.MinInt64 + 1, -1000, -1, 0, 1, 40, 128_000, 128_001, 1 << 24, 1<<24 + 1,
		math.MaxInt32, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64}
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.SampledFrom(edge), rapid.Int64(), rapid.Int64Range(0, 2000))
		u := chat.Usage{
			InputTokens: count.Draw(t, "in"), OutputTokens: count.Draw(t, "out"), CachedTokens: count.Draw(t, "cached"),
			CacheWriteTokens: count.Draw(t, "written"),
			ReasoningTokens:  count.Draw(t, "reasoning"),
		}
		ref := rapid.SampledFrom([]string{"openai/gpt-4o", "own/unknown", ""}).Draw(t, "model")
		req := model.Request{Model: ref, Messages: []chat.Message{
			{Role: chat.RoleUser, Text: chat.NewText(strings.Repeat("x", rapid.IntRange(1, 4000).Draw(t, "sent")))},
		}}
		reply := model.Reply{Message: chat.Message{Role: chat.RoleAssistant,
			Text: chat.NewText(strings.Repeat("y", rapid.IntRange(1, 4000).Draw(t, "received")))}, Usage: &u}
		got, err := model.WithUsage(fixedClient{reply: reply}, nil).Call(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, window := *got.Usage, int64(16<<20)
		if ref == "openai/gpt-4o" {
			window = 128_000
		}
		if min(v.InputTokens, v.OutputTokens, v.CachedTokens, v.CacheWriteTokens, v.ReasoningTokens) < 0 ||
			v.InputTokens > window || v.OutputTokens > window ||
			v.CachedTokens > v.InputTokens-v.CacheWriteTokens || v.ReasoningTokens > v.OutputTokens ||
			v.InputTokens+v.OutputTokens < 1 {
			t.Fatalf("%+v counts as %+v", u, v)
		}
		if (v != u) != (got.UsageEstimated != "") {
			t.Fatalf("%+v became %+v, and the reason is %q", u, v, got.UsageEstimated)
		}
		sum := chat.Usage{InputTokens: math.MaxInt64 - 5, OutputTokens: 5}.Add(v)
		if sum.InputTokens < math.MaxInt64-5 || sum.OutputTokens < 5 {
			t.Fatalf("the sum wrapped: %+v", sum)
		}
	})
}

// TestUsage_FailedCall checks that implausible usage of a failed call is unknown, and the reason is
// kept.
func TestUsage_FailedCall(t *testing.T) {
	t.Parallel()
	bad := &model.Error{Kind: model.KindContentFilter, Message: "withheld",
		Usage: &chat.Usage{InputTokens: -1000, OutputTokens: 5}}
	_, err := model.WithUsage(fixedClient{err: bad}, nil).Call(t.Context(), model.Request{}, nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Usage != nil || failed.UsageEstimated == "" || model.EstimatedOf(err) == "" ||
		bad.Usage == nil {
		t.Errorf("got %+v", failed)
	}
}

// TestUsage_ZeroTokens checks P20: zero input or output tokens for non-empty text is how an SDK
// represents an unreadable number; an estimate is used instead.
func TestUsage_ZeroTokens(t *testing.T) {
	t.Parallel()
	req := model.Request{Model: "own/m",
		Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText(strings.Repeat("x", 30_000))}}}
	answer := chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(strings.Repeat("y", 3000))}
	for _, tc := range []struct {
		reply     model.Reply
		estimated bool
	}{
		{model.Reply{Message: answer, Usage: &chat.Usage{OutputTokens: 5}}, true},
		{model.Reply{Message: answer, Usage: &chat.Usage{InputTokens: 5}}, true},
		{model.Reply{Message: answer, Usage: &chat.Usage{}}, true},
		{model.Reply{Usage: &chat.Usage{OutputTokens: 5}}, true},
		{model.Reply{Usage: &chat.Usage{InputTokens: 5}}, false},
		{model.Reply{Message: answer, Usage: &chat.Usage{InputTokens: 5, OutputTokens: 5}}, false},
	} {
		got, err := model.WithUsage(fixedClient{reply: tc.reply}, nil).Call(t.Context(), req, nil)
		if err != nil || (got.UsageEstimated != "") != tc.estimated || tc.estimated && got.Usage.InputTokens < 10_000 {
			t.Errorf("%+v counts as %+v (%q), %v", *tc.reply.Usage, got.Usage, got.UsageEstimated, err)
		}
	}
}
