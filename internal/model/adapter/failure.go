package adapter

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/outbound"
)

// maxMessage is the maximum length of an error message in bytes: a proxy's error page is not a
// message.
const maxMessage = 2000

// Failure returns the reason why the call failed: err is the SDK's error, nil if it noticed
// nothing. It returns nil if nothing failed, ctx.Err() if ctx is done, otherwise a *model.Error
// without secrets. The SDK's error must not be passed on afterwards.
//
// used is the usage that the provider reported for the call, nil if it reported nothing final.
func (x *Exchange) Failure(ctx context.Context, err error, used *chat.Usage, secrets ...string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if ctx.Err() != nil && (err != nil || x.readErr != nil || x.sendErr != nil) {
		return ctx.Err()
	}
	var failed *model.Error
	switch {
	case x.sendErr != nil:
		failed = unreachable(x.sendErr)
	case x.status >= 400:
		failed = FromStatus(x.status, x.header, x.body)
	case errors.Is(x.readErr, errTooLarge):
		failed = &model.Error{Kind: model.KindServer, Message: x.readErr.Error(), Status: x.status}
	case x.readErr != nil:
		failed = &model.Error{Kind: model.KindNetwork, Message: "the answer ended early: " + x.readErr.Error(),
			Status: x.status, Err: x.readErr}
		if isTimeout(x.readErr) {
			failed.Kind = model.KindTimeout
		}
	case err == nil:
		return nil
	case errors.As(err, &failed):
	default:
		failed = &model.Error{Kind: model.KindServer, Message: "the answer cannot be read: " + err.Error(),
			Status: x.status}
	}
	failed.Usage = used
	failed.Message = shorten(model.Scrub(failed.Message, secrets...))
	return failed
}

// UnexpectedEnd returns the error for a stream that ended before the response was complete.
func UnexpectedEnd() *model.Error {
	return &model.Error{Kind: model.KindNetwork,
		Message: "the answer ended early: the stream ended before the answer was complete"}
}

// StreamError returns the error for a provider error inside a stream: the value of an "error" key.
// A numeric code is an HTTP status.
func StreamError(raw json.RawMessage) *model.Error {
	message, code := ErrorObject(raw)
	var e struct {
		Code int `json:"code"`
	}
	_ = json.Unmarshal(raw, &e) // the code may be a string
	status := 0
	if e.Code >= 400 && e.Code < 600 {
		status = e.Code
	}
	if message == "" {
		message = cmp.Or(code, string(raw))
	}
	return &model.Error{Kind: KindOf(status, code, message), Message: message, Status: status}
}

// Filtered returns the error for a response withheld by a filter.
func Filtered(detail string) *model.Error {
	msg := "the provider's content filter withheld the answer"
	if detail != "" {
		msg += ": " + detail
	}
	return &model.Error{Kind: model.KindContentFilter, Message: msg}
}

// unreachable returns the error for a request that got no response.
func unreachable(err error) *model.Error {
	kind := model.KindNetwork
	switch {
	case errors.Is(err, outbound.ErrRefused):
		kind = model.KindInvalidRequest // it would be rejected again
	case isTimeout(err):
		kind = model.KindTimeout
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &model.Error{Kind: kind, Message: err.Error(), Err: err}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// FromStatus returns the error for an error response.
func FromStatus(status int, header http.Header, body []byte) *model.Error {
	body = unwrap(body)
	message, code := details(body)
	if message == "" {
		message = strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	}
	wait := cmp.Or(outbound.RetryAfter(header, time.Now()), retryInfo(body))
	if wait == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == 529) {
		wait = resetAfter(header, time.Now())
	}
	return &model.Error{Kind: KindOf(status, code, message+" "+quotaIDs(body)), Message: message, Status: status,
		RetryAfter: wait}
}

// Phrases that providers, and compatible servers, use for an account without quota or money, and
// for a prompt that exceeds the model's context window.
var (
	quotaCodes = []string{"insufficient_quota", "insufficient_user_quota", "billing_error",
		"billing_hard_limit_reached", "insufficient_balance", "insufficient_credits", "quota_exceeded"}
	quotaTexts = []string{
		"credit balance is too low", "insufficient balance", "insufficient credits", "insufficient funds",
		"specified api usage limits", "billing hard limit",
	}
	dayTexts     = []string{"perday", "per day", "daily limit"}
	contextCodes = []string{"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded",
		"model_context_window_exceeded", "prompt_too_long"}
	contextTexts = []string{
		"maximum context length", "context length exceeded", "exceeds the context window", "exceed context limit",
		"exceeds the available context size", "prompt is too long", "input is too long", "input token count",
		"maximum prompt length", "exceeds the maximum number of tokens", "maximum context window",
		"context window limit", "reduce the length of the messages", "too large for model with",
	}
)

// KindOf returns the kind from the provider's own code (type, code or status name of an error
// object) if it is unambiguous, otherwise from the HTTP status. Status 0 means that there was none,
// as in an error inside a stream. message is the provider's message: for some providers only the
// message shows that a prompt is too long, or that an account is used up.
func KindOf(status int, code, message string) model.ErrorKind {
	code = strings.ReplaceAll(strings.ToLower(code), "-", "_")
	text := strings.ToLower(message)
	said := func(text string, parts []string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	}
	client := status == 0 || status >= 400 && status < 500
	switch {
	case slices.Contains(quotaCodes, code), client && said(text, quotaTexts), status == http.StatusTooManyRequests &&
		said(text, dayTexts), status == http.StatusPaymentRequired:
		return model.KindQuota
	case slices.Contains(contextCodes, code), client && status != http.StatusTooManyRequests &&
		said(text, contextTexts):
		return model.KindContextLength
	}
	switch code {
	case "rate_limit_error", "rate_limit_exceeded", "rate_limit", "resource_exhausted", "too_many_requests":
		return model.KindRateLimit
	case "overloaded_error", "overloaded", "unavailable", "service_unavailable":
		return model.KindOverloaded
	case "authentication_error", "permission_error", "invalid_api_key", "unauthenticated", "permission_denied":
		return model.KindAuth
	case "timeout_error", "deadline_exceeded", "timeout":
		return model.KindTimeout
	case "content_filter", "content_policy_violation":
		return model.KindContentFilter
	case "not_found_error", "model_not_found", "not_found":
		return model.KindNotFound
	case "request_too_large", "failed_precondition":
		return model.KindInvalidRequest
	case "invalid_request_error", "invalid_argument":
		if status == 0 {
			return model.KindInvalidRequest
		}
	}
	switch {
	case status == http.StatusTooManyRequests:
		return model.KindRateLimit
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return model.KindTimeout
	case status == http.StatusServiceUnavailable, status == 529:
		return model.KindOverloaded
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return model.KindAuth
	case status == http.StatusNotFound:
		return model.KindNotFound
	case status >= 400 && status < 500:
		return model.KindInvalidRequest
	}
	return model.KindServer
}

// unwrap returns the error in a one-element array, as Google sends it, and any other body
// unchanged.
func unwrap(body []byte) []byte {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			return list[0]
		}
	}
	return body
}

// details finds the message and code of an error in the forms that providers and compatible servers
// use: {"error": {"message", "type", "code" | "status"}}, {"error": "text"}, {"message", "type",
// "code"}, {"detail"}, {"errors": […]}, and any of these nested in another.
func details(body []byte) (message, code string) {
	if message, code = ErrorObject(body); message == "" && code == "" {
		return plainText(body), ""
	}
	return message, code
}

// ErrorObject reads the value of an "error" key: an object or a string. The code is the most
// specific of its codes, including those of nested objects.
func ErrorObject(raw json.RawMessage) (message, code string) { return errorObject(raw, maxErrors) }

// maxErrors is the maximum depth to which nested errors are examined.
const maxErrors = 4

func errorObject(raw json.RawMessage, depth int) (message, code string) {
	if word := textOf(raw); word != "" {
		if KindOf(0, word, "") != model.KindServer {
			code = word
		}
		return word, code
	}
	var e struct {
		// Non-string values, such as an HTTP status, carry no information.
		Message json.RawMessage `json:"message"`
		Type    json.RawMessage `json:"type"`
		Status  json.RawMessage `json:"status"`
		Code    json.RawMessage `json:"code"`
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
		Errors  json.RawMessage `json:"errors"`
	}
	if depth == 0 || json.Unmarshal(raw, &e) != nil {
		return "", ""
	}
	message = textOf(e.Message)
	words := []string{textOf(e.Code), textOf(e.Status), textOf(e.Type)}
	for _, inner := range []json.RawMessage{e.Error, e.Detail, unwrap(e.Errors)} {
		m, c := errorObject(inner, depth-1)
		if m == "" && c == "" {
			continue
		}
		if message == "" || m != "" && m != c {
			message = m
		}
		words = slices.Insert(words, 0, c)
		break
	}
	return message, mostSpecific(words)
}

// mostSpecific returns the most specific code of an error object: one for a used-up account or a
// prompt that is too long, then any other known code, then the first.
func mostSpecific(words []string) string {
	for _, known := range []func(model.ErrorKind) bool{
		func(k model.ErrorKind) bool { return k == model.KindQuota || k == model.KindContextLength },
		func(k model.ErrorKind) bool { return k != model.KindServer },
	} {
		if i := slices.IndexFunc(words, func(w string) bool { return w != "" && known(KindOf(0, w, "")) }); i >= 0 {
			return words[i]
		}
	}
	return cmp.Or(words...)
}

// textOf returns the content of a JSON string, or "" for any other value.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// plainText returns an error body that is not JSON, unless it is an HTML page.
func plainText(body []byte) string {
	if len(body) == 0 || !utf8.Valid(body) || body[0] == '<' {
		return ""
	}
	return string(body)
}

// retryInfo reads the wait that Google requests in the body: an entry of error.details with a
// retryDelay such as "34.5s"; it returns 0 if there is none.
func retryInfo(body []byte) time.Duration {
	var e struct {
		Error struct {
			Details []json.RawMessage `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return 0
	}
	for _, raw := range e.Error.Details {
		var info struct {
			RetryDelay string `json:"retryDelay"`
		}
		if json.Unmarshal(raw, &info) != nil {
			continue
		}
		if wait, err := time.ParseDuration(info.RetryDelay); err == nil && wait > 0 {
			return min(wait, maxWait)
		}
	}
	return 0
}

// quotaIDs returns the names of the quotas that Google reports as exceeded, such as
// GenerateRequestsPerDayPerProjectPerModel, or "" if it names none.
func quotaIDs(body []byte) string {
	var e struct {
		Error struct {
			Details []struct {
				Violations []struct {
					QuotaID string `json:"quotaId"`
				} `json:"violations"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	var ids []string
	for _, d := range e.Error.Details {
		for _, v := range d.Violations {
			ids = append(ids, v.QuotaID)
		}
	}
	return strings.Join(ids, " ")
}

// resetAfter reads when a used-up rate limit resets, from the headers of OpenAI
// (`x-ratelimit-reset-requests: 6m0s`), Anthropic (`anthropic-ratelimit-requests-reset:
// 2026-01-02T03:04:05Z`) and similar ones. It returns the latest of several, or 0 if there is none.
func resetAfter(h http.Header, now time.Time) time.Duration {
	wait := time.Duration(0)
	for name := range h {
		name = strings.ToLower(name)
		if !strings.Contains(name, "ratelimit") || !strings.Contains(name, "reset") ||
			h.Get(strings.Replace(name, "reset", "remaining", 1)) != "0" {
			continue
		}
		v := h.Get(name)
		if d, err := time.ParseDuration(v); err == nil {
			wait = max(wait, min(d, maxWait))
		} else if at, err := time.Parse(time.RFC3339, v); err == nil {
			wait = max(wait, min(at.Sub(now), maxWait))
		} else if secs, err := strconv.ParseFloat(v, 64); err == nil && secs > 0 && secs <= (24*time.Hour).Seconds() {
			// larger numbers are dates
			wait = max(wait, bounded(secs*float64(time.Second)))
		}
	}
	return wait
}

// maxWait is the maximum wait accepted from a provider; the driver decides how much of it to wait.
const maxWait = 365 * 24 * time.Hour

// bounded converts a number of nanoseconds to a Duration of at most maxWait.
func bounded(ns float64) time.Duration { return time.Duration(min(ns, float64(maxWait))) }

// shorten truncates a message at a rune boundary.
func shorten(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= maxMessage {
		return s
	}
	cut := maxMessage
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
