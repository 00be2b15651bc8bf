package adapter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// TestFromStatus_ErrorCodes checks P14: the code of an error is found in whatever form a server
// wraps it, and a code for a used-up account or a prompt that is too long takes precedence over
// other codes.
func TestFromStatus_ErrorCodes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		kind    model.ErrorKind
		message string
	}{
		`{"message":"m","type":"insufficient_quota","code":null}`: {model.KindQuota, "m"},
		`{"error":"insufficient_quota"}`: {model.KindQuota,
			"insufficient_quota"},
		`{"error":"insufficient_quota","message":"m"}`:                                       {model.KindQuota, "m"},
		`{"detail":{"error":{"message":"m","code":"insufficient_quota"}}}`:                   {model.KindQuota, "m"},
		`{"detail":{"message":"m","code":"insufficient_quota"}}`:                             {model.KindQuota, "m"},
		`{"errors":[{"message":"m","code":"insufficient_quota"}]}`:                           {model.KindQuota, "m"},
		`{"error":{"error":{"message":"m","code":"insufficient_quota"}}}`:                    {model.KindQuota, "m"},
		`{"error":{"message":"m","code":"rate_limit_exceeded","type":"insufficient_quota"}}`: {model.KindQuota, "m"},
		`{"error":{"message":{"a":1},"code":"insufficient-quota"}}`: {model.KindQuota,
			`{"a":1}`},
		`{"error":{"message":"m","code":["x"],"type":"insufficient_user_quota"}}`: {model.KindQuota, "m"},
		"\ufeff" + `{"error":{"message":"m","code":"insufficient_quota"}}`:        {model.KindQuota, "m"},
		`{"message":"m","code":"context_length_exceeded"}`: {
			model.KindContextLength, "m",
		},
		`{"error":{"message":"m","code":"invalid_argument","type":"context_length_exceeded"}}`: {
			model.KindContextLength, "m",
		},
		`{"type":"error","error":{"type":"rate_limit_error","message":"m"}}`: {model.KindRateLimit,
			"m"},
		`{"error":{"message":"m","type":"tokens","code":"rate_limit_exceeded"}}`: {model.KindRateLimit,
			"m"},
		`{"detail":"m"}`: {model.KindRateLimit, "m"},
		`{"error":{"error":{"error":{"error":{"error":{"error":{}}}}}}}`: {model.KindRateLimit,
			`{"error":{"error":{"error":{"error":{"error":{"error":{}}}}}}}`},
	} {
		if e := adapter.FromStatus(429, nil, []byte(body)); e.Kind != want.kind || e.Message != want.message {
			t.Errorf("%s is %s, %q; want %s, %q", body, e.Kind, e.Message, want.kind, want.message)
		}
	}
	if e := adapter.FromStatus(400, nil,
		[]byte(`{"error":{"message":"\"5 per day\" is no amount","code":"invalid_value"}}`)); e.Kind !=
		model.KindInvalidRequest {
		t.Errorf("a message that speaks of a day is %s", e.Kind)
	}
}

// TestErrorObject_LongList checks that of a list of errors, the first ones are read.
func TestErrorObject_LongList(t *testing.T) {
	t.Parallel()
	var items strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&items, `{"message":"error %d"},`, i)
	}
	message, code := adapter.ErrorObject([]byte(`{"errors":[` + items.String() + `{"code":"insufficient_quota"}]}`))
	if !strings.HasPrefix(message, "error 0; error 1; ") || len(message) > 1000 || code != "" {
		t.Errorf("got %d bytes, %.100q, %q", len(message), message, code)
	}
}
