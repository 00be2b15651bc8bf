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

// maxMessage bounds the text of an error, in bytes: a proxy's error page is no message.
const maxMessage = 2000

// Failure tells what went wrong with the call: err is what the SDK said, nil where it noticed nothing. It gives nil where nothing went
// wrong, ctx.Err() where ctx is done, else a *model.Error without secrets. After it the SDK's error must not be passed on.
//
// used is what the provider said of the call's cost, nil where it said nothing final.
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
		failed = &model.Error{Kind: model.KindNetwork, Message: "the answer ended early: " + x.readErr.Error(), Status: x.status, Err: x.readErr}
		if isTimeout(x.readErr) {
			failed.Kind = model.KindTimeout
		}
	case err == nil:
		return nil
	case errors.As(err, &failed):
	default:
		failed = &model.Error{Kind: model.KindServer, Message: "the answer cannot be read: " + err.Error(), Status: x.status}
	}
	failed.Usage = used
	failed.Message = shorten(model.Scrub(failed.Message, secrets...))
	return failed
}

// UnexpectedEnd is the error of a stream that ended before the answer was complete.
func UnexpectedEnd() *model.Error {
	return &model.Error{Kind: model.KindNetwork, Message: "the answer ended early: the stream ended before the answer was complete"}
}

// StreamError is the error that a provider told inside a stream: the value of an "error" key. A number as its code is an HTTP status.
func StreamError(raw json.RawMessage) *model.Error {
	message, code := ErrorObject(raw)
	var e struct {
		Code int `json:"code"`
	}
	_ = json.Unmarshal(raw, &e) // the code may be a word
	status := 0
	if e.Code >= 400 && e.Code < 600 {
		status = e.Code
	}
	if message == "" {
		message = cmp.Or(code, string(raw))
	}
	return &model.Error{Kind: KindOf(status, code, message), Message: message, Status: status}
}

// Filtered is the error of an answer that a filter withheld.
func Filtered(detail string) *model.Error {
	msg := "the provider's content filter withheld the answer"
	if detail != "" {
		msg += ": " + detail
	}
	return &model.Error{Kind: model.KindContentFilter, Message: msg}
}

// unreachable tells a request that got no answer.
func unreachable(err error) *model.Error {
	kind := model.KindNetwork
	switch {
	case errors.Is(err, outbound.ErrRefused):
		kind = model.KindInvalidRequest // it would be refused again
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

// FromStatus reads an error answer.
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
	return &model.Error{Kind: KindOf(status, code, message+" "+quotaIDs(body)), Message: message, Status: status, RetryAfter: wait}
}

// What providers, and servers that speak as they do, say of an account without quota or money, and of a prompt that the model's context window cannot hold.
var (
	quotaCodes = []string{"insufficient_quota", "insufficient_user_quota", "billing_error", "billing_hard_limit_reached", "insufficient_balance", "insufficient_credits", "quota_exceeded"}
	quotaTexts = []string{
		"credit balance is too low", "insufficient balance", "insufficient credits", "insufficient funds", "specified api usage limits", "billing hard limit",
	}
	dayTexts     = []string{"perday", "per day", "daily limit"}
	contextCodes = []string{"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "model_context_window_exceeded", "prompt_too_long"}
	contextTexts = []string{
		"maximum context length", "context length exceeded", "exceeds the context window", "exceed context limit", "exceeds the available context size", "prompt is too long", "input is too long", "input token count",
		"maximum prompt length", "exceeds the maximum number of tokens", "maximum context window", "context window limit", "reduce the length of the messages", "too large for model with",
	}
)

// KindOf tells the kind by the provider's own word (type, code or status name of an error object), where it is clear, else by the HTTP
// status. Status 0 means that there was none, as in an error inside a stream. message is the provider's text: some tell by it alone that a prompt is too long, or that an account is used up.
func KindOf(status int, code, message string) model.ErrorKind {
	code = strings.ReplaceAll(strings.ToLower(code), "-", "_")
	text := strings.ToLower(message)
	said := func(text string, parts []string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	}
	client := status == 0 || status >= 400 && status < 500
	switch {
	case slices.Contains(quotaCodes, code), client && said(text, quotaTexts), status == http.StatusTooManyRequests && said(text, dayTexts), status == http.StatusPaymentRequired:
		return model.KindQuota
	case slices.Contains(contextCodes, code), client && status != http.StatusTooManyRequests && said(text, contextTexts):
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

// unwrap gives the error in an array of one, as Google sends it, and any other body as it is.
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

// details finds message and code of an error in the forms that providers and servers compatible with them use: {"error": {"message", "type", "code" | "status"}},
// {"error": "text"}, {"message", "type", "code"}, {"detail"}, {"errors": […]}, and one of them inside of another.
func details(body []byte) (message, code string) {
	if message, code = ErrorObject(body); message == "" && code == "" {
		return plainText(body), ""
	}
	return message, code
}

// ErrorObject reads the value of an "error" key: an object or a text. The code is the most telling of its words, those of objects inside it among them.
func ErrorObject(raw json.RawMessage) (message, code string) { return errorObject(raw, maxErrors) }

// maxErrors is how deep errors inside of errors are looked at.
const maxErrors = 4

func errorObject(raw json.RawMessage, depth int) (message, code string) {
	if word := textOf(raw); word != "" {
		if KindOf(0, word, "") != model.KindServer {
			code = word
		}
		return word, code
	}
	var e struct {
		// Values of another type than text, such as an HTTP status, tell nothing.
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
	return message, telling(words)
}

// telling gives the word of an error object that says most: that the account is used up or that the prompt is too long, then any other that is known, then the first.
func telling(words []string) string {
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

// textOf gives a JSON string; "" for any other value.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// plainText gives an error body that is no JSON, unless it is a page.
func plainText(body []byte) string {
	if len(body) == 0 || !utf8.Valid(body) || body[0] == '<' {
		return ""
	}
	return string(body)
}

// retryInfo reads the wait that Google asks for in the body: an entry of error.details with a retryDelay such as "34.5s"; 0 where there is none.
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

// quotaIDs gives the names of the quotas that Google says are exceeded, such as GenerateRequestsPerDayPerProjectPerModel; "" where it names none.
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

// resetAfter reads when a limit that is used up begins anew, from the headers of OpenAI (`x-ratelimit-reset-requests: 6m0s`) and Anthropic
// (`anthropic-ratelimit-requests-reset: 2026-01-02T03:04:05Z`) and the like; the latest of several. 0 where none says so.
func resetAfter(h http.Header, now time.Time) time.Duration {
	wait := time.Duration(0)
	for name := range h {
		name = strings.ToLower(name)
		if !strings.Contains(name, "ratelimit") || !strings.Contains(name, "reset") || h.Get(strings.Replace(name, "reset", "remaining", 1)) != "0" {
			continue
		}
		v := h.Get(name)
		if d, err := time.ParseDuration(v); err == nil {
			wait = max(wait, min(d, maxWait))
		} else if at, err := time.Parse(time.RFC3339, v); err == nil {
			wait = max(wait, min(at.Sub(now), maxWait))
		} else if secs, err := strconv.ParseFloat(v, 64); err == nil && secs > 0 && secs <= (24*time.Hour).Seconds() { // larger numbers are dates
			wait = max(wait, bounded(secs*float64(time.Second)))
		}
	}
	return wait
}

// maxWait bounds what is taken from a provider as a wait; how much of it is waited for is the driver's to say.
const maxWait = 365 * 24 * time.Hour

// bounded turns a number of nanoseconds into a Duration of maxWait at most.
func bounded(ns float64) time.Duration { return time.Duration(min(ns, float64(maxWait))) }

// shorten cuts a message at a rune's edge.
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
