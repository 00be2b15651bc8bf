package providers_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/model"
)

// pieces repeats an event, n times.
func pieces(n int, event string) string { return strings.Repeat("data: "+event+"\n\n", n) }

// longReplies are streams of n chunks, by protocol and kind.
var longReplies = map[string]func(n int) string{
	"openai/text": func(n int) string {
		return pieces(n, `{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"twenty bytes of text"}}]}`) +
			pieces(1, `{"id":"1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) +
			"data: [DONE]\n\n"
	},
	"openai/arguments": func(n int) string {
		return pieces(1,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function",`+
				`"function":{"name":"f","arguments":"{\"a\":\""}}]}}]}`) +
			pieces(n,
				`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"twenty `+
					`bytes of text"}}]}}]}`) +
			pieces(1,
				`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]},`+
					`"finish_reason":"tool_calls"}]}`) + "data: [DONE]\n\n"
	},
	"anthropic/text": func(n int) string {
		return anthropicStream(n, `{"type":"text","text":""}`, `{"type":"text_delta","text":"twenty bytes of text"}`)
	},
	"anthropic/thinking": func(n int) string {
		return anthropicStream(n, `{"type":"thinking","thinking":"","signature":""}`,
			`{"type":"thinking_delta","thinking":"twenty bytes of text"}`)
	},
	"anthropic/arguments": func(n int) string {
		return anthropicStream(n, `{"type":"tool_use","id":"c","name":"f","input":{}}`,
			`{"type":"input_json_delta","partial_json":"twenty bytes of text"}`)
	},
	"google/text": func(n int) string {
		return pieces(n, `{"candidates":[{"content":{"role":"model","parts":[{"text":"twenty bytes of text"}]}}]}`) +
			pieces(1, `{"candidates":[{"content":{"role":"model","parts":[{"text":"."}]},"finishReason":"STOP"}]}`)
	},
	"google/thoughts": func(n int) string {
		return pieces(n,
			`{"candidates":[{"content":{"role":"model","parts":[{"thought":true,"text":"twenty bytes of text"}]}}]}`) +
			pieces(1, `{"candidates":[{"content":{"role":"model","parts":[{"text":"."}]},"finishReason":"STOP"}]}`)
	},
	"google/calls": func(n int) string {
		return pieces(1, `{"candidates":[{"content":{"role":"model","parts":[`+
			strings.Repeat(`{"functionCall":{"name":"f","args":{"a":"`+
				strings.Repeat("twenty bytes of text", 4)+`"}}},`, n/4)+
			`{"text":"."}]},"finishReason":"STOP"}]}`)
	},
}

func anthropicStream(n int, start, delta string) string {
	return pieces(1,
		`{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","model":"m","content":[],`+
			`"usage":{"input_tokens":1,"output_tokens":1}}}`) +
		pieces(1, `{"type":"content_block_start","index":0,"content_block":`+start+`}`) +
		pieces(n, `{"type":"content_block_delta","index":0,"delta":`+delta+`}`) +
		pieces(1, `{"type":"content_block_stop","index":0}`) +
		pieces(1, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`) +
		pieces(1, `{"type":"message_stop"}`)
}

// TestReply_MemoryLinear checks that reading a reply with twice the chunks takes twice
// the memory. It is not parallel because it counts allocations.
func TestReply_MemoryLinear(t *testing.T) {
	for name, stream := range longReplies {
		t.Run(name, func(t *testing.T) {
			protocol, _, _ := strings.Cut(name, "/")
			read := func(n int) uint64 {
				c := adapterFor(t, protocol, 200, nil, stream(n))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				reply, err := c.Call(t.Context(), hello, func(model.Delta) {})
				runtime.ReadMemStats(&after)
				if size := reply.Message.Text.Len() + int64(len(reply.Reasoning)); err != nil || size < int64(20*n) &&
					len(reply.Message.ToolCalls) == 0 {
					t.Fatalf("%d bytes, %v", size, err)
				}
				return after.TotalAlloc - before.TotalAlloc
			}
			read(10) // one-time allocations
			const n = 1000
			once, twice := read(n), read(2*n)
			if ratio := float64(twice) / float64(once); ratio > 2.2 {
				t.Errorf("%d pieces allocate %d bytes, %d pieces %d, %.2f times as many", n, once, 2*n, twice, ratio)
			}
		})
	}
}
