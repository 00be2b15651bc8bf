package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/model"
)

// TestRetryInfo checks P14: Google requests a wait in the body, not in a header.
func TestRetryInfo(t *testing.T) {
	t.Parallel()
	const info = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}`
	for name, tc := range map[string]struct {
		header http.Header
		body   string
		want   time.Duration
	}{
		"info": {nil, `{"error":{"message":"m","details":[{"@type":"other","retryDelay":7},` + info + `]}}`,
			34500 * time.Millisecond},
		"info in a list": {nil, `[{"error":{"details":[` + info + `]}}]`, 34500 * time.Millisecond},
		"used up": {http.Header{"X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {
			"1m2s",
		}, "X-Ratelimit-Remaining-Tokens": {"7"}, "X-Ratelimit-Reset-Tokens": {"9m"}}, "", 62 * time.Second},
		"used up, by date": {http.Header{"Anthropic-Ratelimit-Tokens-Remaining": {"0"},
			"Anthropic-Ratelimit-Tokens-Reset": {"2999-01-01T00:00:00Z"}}, "", 365 * 24 * time.Hour},
		"used up, seconds": {http.Header{"Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"5"}}, "", 5 * time.Second},
		"not used up":      {http.Header{"Ratelimit-Remaining": {"1"}, "Ratelimit-Reset": {"5"}}, "", 0},
		"header wins": {http.Header{"Retry-After": {"2"}}, `{"error":{"details":[` + info + `]}}`,
			2 * time.Second},
		"no wait":         {nil, `{"error":{"details":[{"retryDelay":"-1s"},{"retryDelay":"soon"}]}}`, 0},
		"too long":        {nil, `{"error":{"details":[{"retryDelay":"99999h"}]}}`, 365 * 24 * time.Hour},
		"details a text":  {nil, `{"error":{"details":"busy"}}`, 0},
		"error is a text": {nil, `{"error":"busy"}`, 0},
	} {
		if got := FromStatus(http.StatusTooManyRequests, tc.header, []byte(tc.body)).RetryAfter; got != tc.want {
			t.Errorf("%s: got %s; want %s", name, got, tc.want)
		}
	}
}

// silence is an endless body that costs nothing to read.
type silence struct{}

func (silence) Read(p []byte) (int, error) { return len(p), nil }

// TestResponse_SizeLimit checks SEC17: an endless response fails, however it is read.
func TestResponse_SizeLimit(t *testing.T) {
	t.Parallel()
	x, err := watchedGet(t, t.Context(), answering(200, io.LimitReader(silence{}, maxAnswer+1)))
	if err != nil {
		t.Fatal(err)
	}
	var failed *model.Error
	if err := x.Failure(t.Context(), nil, nil); !errors.As(err, &failed) || failed.Kind != model.KindServer ||
		!strings.Contains(failed.Message, "larger than") {
		t.Errorf("got %v; want that it is too large", err)
	}
	if x, err = watchedGet(t, t.Context(), answering(200, io.LimitReader(silence{}, maxAnswer))); err != nil ||
		x.Failure(t.Context(), nil, nil) != nil {
		t.Errorf("an answer at the limit: %v, %v", err, x.Failure(t.Context(), nil, nil))
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "{}", "null": "{}", "{\"a\": 1}\n": `{"a": 1}`, `{"a`: `"{\"a"`, "[1]": `"[1]"`, "7": `"7"`,
		`"x"`: `"\"x\""`, "<b>": `"<b>"`,
	} {
		got := Arguments(in)
		if string(got) != want || !json.Valid(got) {
			t.Errorf("Arguments(%q): got %s; want %s", in, got, want)
		}
		if object := ArgumentsObject(got); object[0] != '{' || !json.Valid(object) {
			t.Errorf("ArgumentsObject(%s): got %s", got, object)
		}
	}
}

func TestCallName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "_", "read_file-2": "read_file-2", "functions.read": "functions_read", "über": "__ber",
		"shell<|channel|>commentary": "shell__channel__commentary", strings.Repeat("x", 70): strings.Repeat("x", 64),
	} {
		if got := CallName(in); got != want {
			t.Errorf("CallName(%q): got %q; want %q", in, got, want)
		}
	}
}

func TestCallID(t *testing.T) {
	t.Parallel()
	long := func(id string) bool { return len(id) > 3 }
	if got := CallID("call_1", long); got != "call_1" {
		t.Errorf("got %q for a valid id", got)
	}
	a, b := CallID("a", long), CallID("b", long)
	if a == b || a != CallID("a", long) || len(a) != ShortID || !IsName(a, "") {
		t.Errorf("got %q and %q", a, b)
	}
}

// TestKindOf checks that every status and every code has a kind; inside a stream there is only a
// code.
func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		code   string
		want   model.ErrorKind
	}{
		{400, "", model.KindInvalidRequest}, {401, "", model.KindAuth}, {402, "", model.KindQuota},
		{403, "", model.KindAuth}, {404, "", model.KindNotFound},
		{408, "", model.KindTimeout}, {409, "", model.KindInvalidRequest}, {413, "", model.KindInvalidRequest},
		{422, "", model.KindInvalidRequest},
		{429, "", model.KindRateLimit}, {500, "", model.KindServer}, {502, "", model.KindServer},
		{503, "", model.KindOverloaded}, {504, "", model.KindTimeout},
		{529, "", model.KindOverloaded}, {599, "", model.KindServer},
		{0, "overloaded_error", model.KindOverloaded}, {0, "rate_limit_error", model.KindRateLimit},
		{0, "invalid_request_error", model.KindInvalidRequest},
		{0, "RESOURCE_EXHAUSTED", model.KindRateLimit}, {0, "api_error", model.KindServer}, {0, "", model.KindServer},
		{400, "content_filter", model.KindContentFilter}, {400, "context_length_exceeded", model.KindContextLength},
		{401, "invalid_request_error", model.KindAuth},
		{500, "insufficient_quota", model.KindQuota},
	} {
		if got := KindOf(tc.status, tc.code, ""); got != tc.want {
			t.Errorf("KindOf(%d, %q): got %s; want %s", tc.status, tc.code, got, tc.want)
		}
	}
}

// roundTrip is a function used as an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// watchedGet makes one watched GET request and reads the response.
func watchedGet(t *testing.T, ctx context.Context, f roundTrip) (*Exchange, error) {
	t.Helper()
	watched, x := Begin(ctx, nil)
	req, err := http.NewRequestWithContext(watched, http.MethodGet, "http://h/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Client(&http.Client{Transport: f}).Do(req)
	if err != nil {
		return x, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return x, err
}

func answering(status int, body io.Reader) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"X-Id": {"7"}}, Body: io.NopCloser(body)}, nil
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late := model.Error{Kind: model.KindOverloaded, Message: "busy with key-1234"}
	for name, tc := range map[string]struct {
		ctx  context.Context
		f    roundTrip
		sdk  error
		kind model.ErrorKind
		says string
	}{
		"fine": {t.Context(), answering(200, strings.NewReader("ok")), nil, "", ""},
		"unreadable": {t.Context(), answering(200, strings.NewReader("ok")), errors.New("bad JSON"),
			model.KindServer, "the answer cannot be read: bad JSON"},
		"told": {t.Context(), answering(200, strings.NewReader("ok")), &late, model.KindOverloaded,
			"busy with [secret]"},
		"status": {t.Context(),
			answering(429, strings.NewReader(`{"error":{"message":"slow down key-1234"}}`)), errors.New("lost"),
			model.KindRateLimit, "slow down [secret]"},
		"long body": {t.Context(), answering(500, strings.NewReader(strings.Repeat("é", 50_000))), nil,
			model.KindServer, "…"},
		"broken": {t.Context(),
			answering(200, io.MultiReader(strings.NewReader("o"), iotest.ErrReader(io.ErrUnexpectedEOF))), nil,
			model.KindNetwork, "ended early: unexpected EOF"},
		"broken, told": {t.Context(), answering(200, iotest.ErrReader(io.ErrUnexpectedEOF)), UnexpectedEnd(),
			model.KindNetwork, "unexpected EOF"},
		"broken by time": {t.Context(), answering(200, iotest.ErrReader(iotest.ErrTimeout)), nil, model.KindNetwork,
			"timeout"},
		"read past time": {t.Context(), answering(200, iotest.ErrReader(context.DeadlineExceeded)), nil,
			model.KindTimeout, ""},
		"unreachable": {t.Context(), func(*http.Request) (*http.Response, error) {
			return nil, errors.New("no route to key-1234")
		}, nil, model.KindNetwork, "no route to [secret]"},
		"cancelled": {cancelled, func(*http.Request) (*http.Response, error) { return nil, errors.New("x") }, nil,
			"", ""},
		"cancelled, told": {cancelled, answering(200, strings.NewReader("")), errors.New("x"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := watchedGet(t, tc.ctx, tc.f)
			if tc.sdk == nil {
				tc.sdk = err
			}
			got := x.Failure(tc.ctx, tc.sdk, nil, "key-1234")
			if tc.kind == "" {
				if !errors.Is(got, tc.ctx.Err()) {
					t.Errorf("got %v; want %v", got, tc.ctx.Err())
				}
				return
			}
			var failed *model.Error
			if !errors.As(got, &failed) || failed.Kind != tc.kind || !strings.Contains(failed.Message, tc.says) ||
				len(failed.Message) > maxMessage+8 {
				t.Errorf("got %v; want %s saying %q", got, tc.kind, tc.says)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", got, failed), "key-1234") {
				t.Errorf("the key is in %+v", failed)
			}
		})
	}
	x, err := watchedGet(t, t.Context(), answering(201, strings.NewReader("")))
	if err != nil || x.Status() != 201 || x.Header("x-id") != "7" {
		t.Errorf("got %d, %q, %v", x.Status(), x.Header("x-id"), err)
	}
}

// TestDrain checks that a server that does not end its stream is abandoned after a moment.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begin := time.Now()
		Drain(readerFunc(func([]byte) (int, error) { <-ctx.Done(); return 0, ctx.Err() }), cancel)
		if got := time.Since(begin); got != drainTime {
			t.Errorf("left after %s; want %s", got, drainTime)
		}
		ctx2, cancel2 := context.WithCancel(t.Context())
		defer cancel2()
		Drain(strings.NewReader("rest"), cancel2)
		if ctx2.Err() != nil {
			t.Error("a request that ended well was cancelled")
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
