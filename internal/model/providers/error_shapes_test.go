package providers_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/anthropic"
	"github.com/hocket-run/hocket/internal/model/google"
	"github.com/hocket-run/hocket/internal/model/openai"
	"github.com/hocket-run/hocket/internal/outbound"
)

// adapterFor returns the adapter of a protocol for a server that always sends the same response.
func adapterFor(t *testing.T, protocol string, status int, header http.Header, body string) model.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		maps.Copy(w.Header(), header)
		if strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return clientOf(t, protocol, srv.URL)
}

// clientOf returns the adapter of a protocol for the server at url.
func clientOf(t *testing.T, protocol, url string) model.Client {
	t.Helper()
	client := outbound.New(outbound.Config{Allow: []string{url}})
	t.Cleanup(client.CloseIdleConnections)
	var c model.Client
	var err error
	switch protocol {
	case "openai":
		c, err = openai.New(openai.Config{BaseURL: url, Key: "k", HTTP: client})
	case "anthropic":
		c, err = anthropic.New(anthropic.Config{BaseURL: url, Key: "k", Own: true, HTTP: client})
	default:
		c, err = google.New(google.Config{BaseURL: url, Key: "k", HTTP: client})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var hello = model.Request{Model: "m", Messages: []chat.Message{{Role: chat.RoleUser, Text: chat.NewText("hello")}}}

// TestErrorShapes checks that provider errors for a used-up account, for a prompt that is too long,
// and with a wait, before and inside a stream.
func TestErrorShapes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		protocol string
		status   int
		body     string
		want     model.ErrorKind
	}{
		"openai quota": {"openai", 429,
			`{"error":{"message":"You exceeded your current quota, please check your plan and billing ` +
				`details.","type":"insufficient_quota","code":"insufficient_quota"}}`, model.KindQuota},
		"openai quota, type alone": {"openai", 429,
			`{"error":{"message":"no","type":"insufficient_quota","code":null}}`, model.KindQuota},
		"openai quota in a stream": {"openai", 200,
			"data: {\"error\":{\"message\":\"no\",\"type\":\"insufficient_quota\"," +
				"\"code\":\"insufficient_quota\"}}\n\n", model.KindQuota},
		"openai rate": {"openai", 429, `{"error":{"message":"Rate limit reached for requests per min ` +
			`(RPM)","type":"requests","code":"rate_limit_exceeded"}}`, model.KindRateLimit},
		"openai length": {"openai", 400,
			`{"error":{"message":"This model's maximum context length is 128000 ` +
				`tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, model.KindContextLength},
		"openai length in a stream": {
			"openai", 200,
			"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"too " +
				"long\",\"code\":\"context_length_exceeded\"}}\n\n",
			model.KindContextLength},
		"vLLM length": {"openai", 400,
			`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested ` +
				`9000 tokens","type":"BadRequestError","code":400}`, model.KindContextLength},
		"llama.cpp length": {"openai", 400,
			`{"error":{"code":400,"message":"the request exceeds the available context ` +
				`size","type":"exceed_context_size_error"}}`, model.KindContextLength},
		"DeepSeek money": {"openai", 402,
			`{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`,
			model.KindQuota},
		"openai other": {"openai", 400,
			`{"error":{"message":"bad temperature","type":"invalid_request_error","code":null}}`,
			model.KindInvalidRequest},
		"anthropic length": {"anthropic", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > ` +
				`200000 maximum"}}`, model.KindContextLength},
		"anthropic length with answer": {"anthropic", 400,
			"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and " +
				"`max_tokens` exceed context limit: 199211 + 20000 > 200000\"}}", model.KindContextLength},
		"anthropic length in a stream": {"anthropic", 200,
			"event: error\ndata: " +
				"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: " +
				"208310 tokens > 200000 maximum\"}}\n\n", model.KindContextLength},
		"anthropic money": {"anthropic", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to ` +
				`access the Anthropic API."}}`, model.KindQuota},
		"anthropic rate": {"anthropic", 429,
			`{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your ` +
				`organization's rate limit of 50 requests per minute"}}`, model.KindRateLimit},
		"google length": {"google", 400,
			`{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens ` +
				`allowed (1048576).","status":"INVALID_ARGUMENT"}}`, model.KindContextLength},
		"google length in a stream": {"google", 200,
			"data: {\"error\":{\"code\":400,\"message\":\"The input token count (1200000) exceeds the maximum number " +
				"of tokens allowed (1048576).\",\"status\":\"INVALID_ARGUMENT\"}}\n\n", model.KindContextLength},
		"google day": {"google", 429,
			`{"error":{"code":429,"message":"You exceeded your current ` +
				`quota","status":"RESOURCE_EXHAUSTED",` +
				`"details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`,
			model.KindQuota},
		"google minute": {"google", 429,
			`{"error":{"code":429,"message":"You exceeded your current ` +
				`quota","status":"RESOURCE_EXHAUSTED",` +
				`"details":[{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"}]}]}}`,
			model.KindRateLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := adapterFor(t, tc.protocol, tc.status, nil, tc.body).Call(t.Context(), hello, nil)
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Kind != tc.want {
				t.Errorf("got %v; want kind %s", err, tc.want)
			}
		})
	}
	for _, protocol := range []string{"openai", "anthropic", "google"} {
		_, err := adapterFor(t, protocol, 429, http.Header{"Retry-After": {"86400"}},
			`{"error":{"message":"slow down"}}`).
			Call(t.Context(), hello, nil)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != model.KindRateLimit || failed.RetryAfter != 24*time.Hour {
			t.Errorf("%s: %v asks to wait %v", protocol, err, failed)
		}
	}
}

// TestHostileUsage checks P20: whatever numbers a server reports as usage, through every adapter,
// the counted usage is not negative, is not implausibly large, and sums without overflow.
func TestHostileUsage(t *testing.T) {
	t.Parallel()
	// Each body has the numbers a (input), b (output), c (cached), d (reasoning).
	bodies := map[string]string{
		"openai": "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n" +
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":A,\"completion_tokens\":B,\"total_tokens\":A," +
			"\"prompt_tokens_details\":{\"cached_tokens\":C}," +
			"\"completion_tokens_details\":{\"reasoning_tokens\":D}}}\n\ndata: [DONE]\n\n",
		"anthropic": "event: message_start\ndata: " +
			"{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\"," +
			"\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":A,\"output_tokens\":1," +
			"\"cache_read_input_tokens\":C}}}\n\n" +
			"event: content_block_start\ndata: " +
			"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"event: content_block_delta\ndata: " +
			"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n" +
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
			"event: message_delta\ndata: " +
			"{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}," +
			"\"usage\":{\"output_tokens\":B}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		"google": "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"hi\"}]}," +
			"\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":A,\"candidatesTokenCount\":B," +
			"\"cachedContentTokenCount\":C,\"thoughtsTokenCount\":D}}\n\n",
	}
	numbers := []string{"5", "0", "-1000", "-9223372036854775808", "9223372036854775807", "9223372036854775808",
		"4611686018427387904", "1e30", "-1e30", "1e400", "18446744073709551615", "2147483648", "99999999", "1.5"}
	for protocol, body := range bodies {
		for _, a := range numbers {
			for _, b := range []string{"1", "-7", "1e30", "9223372036854775807"} {
				for _, c := range []string{"0", "-1000", "9223372036854775807"} {
					text := strings.NewReplacer("A", a, "B", b, "C", c, "D",
						c).Replace(strings.ReplaceAll(body, "[DONE]", "\x00"))
					client := model.WithUsage(
						adapterFor(t, protocol, 200, nil, strings.ReplaceAll(text, "\x00", "[DONE]")),
						nil)
					name := fmt.Sprintf("%s: %s in, %s out, %s cached", protocol, a, b, c)
					reply, err := client.Call(t.Context(), hello, nil)
					if err != nil { // invalid counts may make the response unreadable
						if u := model.UsageOf(err); u != nil && min(u.InputTokens, u.OutputTokens) < 0 {
							t.Errorf("%s: the failure used %+v", name, *u)
						}
						continue
					}
					u := reply.Usage
					switch {
					case u == nil: // unknown, which counts as the entire reservation
					case min(u.InputTokens, u.OutputTokens, u.CachedTokens, u.ReasoningTokens, u.CacheWriteTokens) < 0,
						u.CachedTokens > u.InputTokens, u.ReasoningTokens > u.OutputTokens:
						t.Errorf("%s counts as %+v", name, *u)
					case u.InputTokens > 16<<20 || u.OutputTokens > 16<<20:
						t.Errorf("%s counts as %+v, more than any window", name, *u)
					case (strings.HasPrefix(a, "-") || strings.HasPrefix(b, "-")) && reply.UsageEstimated == "":
						t.Errorf("%s counts as %+v, and nothing says that this is an estimate", name, *u)
					}
				}
			}
		}
	}
}
