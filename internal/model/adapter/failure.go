package adapter

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	htmltext "html"
	"net"
	"net/http"
	"net/url"
	"regexp"
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
	failed.Message = shorten(model.Scrub(failed.Message, secrets...), maxMessage)
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
	line := strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	if text := plainMarkup(body); text != "" && !contains(line, text) {
		message = text
		if !contains(text, line) {
			message = line + ": " + text
		}
	}
	message = cmp.Or(message, line)
	wait := cmp.Or(outbound.RetryAfter(header, time.Now()), retryInfo(body))
	if wait == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == 529) {
		wait = resetAfter(header, time.Now())
	}
	return &model.Error{Kind: KindOf(status, code, message+" "+quotaIDs(body)), Message: message, Status: status,
		RetryAfter: wait}
}

// Phrases that providers, and compatible servers, use for an account without quota or money, and
// for a prompt that exceeds the model's context window. The exchanges in
// internal/model/providers/testdata show who uses them.
var (
	quotaCodes = []string{
		"insufficient_quota", "insufficient_user_quota", "billing_error", "billing_hard_limit_reached",
		"billing_not_active", "insufficient_balance", "insufficient_balance_error", "insufficient_credits",
		"quota_exceeded", "exceeded_current_quota_error", "budget_exceeded", "blocked_api_access", "arrearage",
	}
	quotaTexts = []string{
		"credit balance is too low", "insufficient balance", "balance is insufficient", "余额不足",
		"insufficient credits", "insufficient funds", "available credits", "out of credits", "more credits",
		"credits are depleted", "monthly included credits", "have any credits", "credit limit exceeded",
		"specified api usage limits", "usage limit reached", "billing hard limit", "spending limit", "spend limit",
		"spending cap",
	}
	longTexts = []string{ // of limits that last for a day or longer
		"perday", "per day", "daily limit", "permonth", "per month", "/ month", "monthly limit",
	}
	contextCodes = []string{
		"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded",
		"model_context_window_exceeded", "prompt_too_long", "model_max_prompt_tokens_exceeded",
		"tokens_limit_reached", "string_above_max_length", "request_too_large",
	}
	contextTexts = []string{
		"maximum context length", "max context length", "context length exceeded", "exceeds the context length",
		"longer than the model's context length", "greater than the context length", "context length of only",
		"longer than the maximum model length", "maximum context window", "exceeds the context window",
		"context window exceeds", "contextwindowexceeded", "context window limit", "exceed context limit",
		"exceeds the available context size", "context size has been exceeded", "exceeded model token limit",
		"prompt is too long", "input is too long", "maximum prompt length", "maximum allowed input length",
		"range of input length", "input token count", "prompt token count", "max input token limit",
		"exceeds the maximum number of tokens", "tokens in request more than max tokens", "total tokens exceeds",
		"`inputs` must have less than", "`inputs` tokens + `max_new_tokens`", "reduce the length of the messages",
		"too large for model with",
	}
	// aloneTexts mean that the request alone exceeds a rate limit: it fails whenever it is sent.
	aloneTexts = []string{"request too large for", "tokens must be reduced"}
)

var (
	zeroLimit      = regexp.MustCompile(`\blimit: 0(?:[,\s]|$)`)
	limitRequested = regexp.MustCompile(`limit:? ([\d,]+),.*\brequested:? ([\d,]+)`)
)

// exceedsAlone reports whether a rate limit of tokens is below what the one request asks for.
func exceedsAlone(status int, text string) bool {
	switch status {
	case 0, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
	default:
		return false
	}
	if !strings.Contains(text, "token") {
		return false
	}
	if containsAny(text, aloneTexts) {
		return true
	}
	m := limitRequested.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	limit, err1 := strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
	requested, err2 := strconv.ParseInt(strings.ReplaceAll(m[2], ",", ""), 10, 64)
	return err1 == nil && err2 == nil && requested > limit
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

// contains reports whether a text contains a part, in whatever case.
func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// KindOf returns the kind from the provider's own code (type, code or status name of an error
// object) if it is unambiguous, otherwise from the HTTP status. Status 0 means that there was none,
// as in an error inside a stream. message is the provider's message: for some providers only the
// message shows that a prompt is too long, or that an account is used up.
func KindOf(status int, code, message string) model.ErrorKind {
	code = strings.ReplaceAll(strings.ToLower(code), "-", "_")
	text := strings.ToLower(message)
	turnedAway := status == http.StatusTooManyRequests
	switch {
	case slices.Contains(quotaCodes, code), containsAny(text, quotaTexts), status == http.StatusPaymentRequired,
		turnedAway && (containsAny(text, longTexts) || zeroLimit.MatchString(text)):
		return model.KindQuota
	case slices.Contains(contextCodes, code), !turnedAway && containsAny(text, contextTexts),
		exceedsAlone(status, text):
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
	case "failed_precondition":
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
// "code"}, {"detail"}, {"errors": […]}, and any of these nested in another, also as a text.
func details(body []byte) (message, code string) {
	if message, code = ErrorObject(body); message == "" && code == "" {
		return plainText(body), ""
	}
	return message, code
}

// ErrorObject reads the value of an "error" key: an object, a list of these or a string. The code
// is the most specific of its codes, including those of nested objects.
func ErrorObject(raw json.RawMessage) (message, code string) { return errorObject(raw, maxErrors) }

// maxErrors is the maximum depth to which nested errors are examined.
const maxErrors = 6

// maxItems is the maximum number of errors in a list that are examined.
const maxItems = 20

func errorObject(raw json.RawMessage, depth int) (message, code string) {
	if depth == 0 {
		return "", ""
	}
	if word := textOf(raw); word != "" {
		if inner := nested(raw); inner != nil {
			return errorObject(inner, depth-1)
		}
		if KindOf(0, word, "") != model.KindServer {
			code = word
		}
		return word, code
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var messages []string
		for _, item := range list[:min(len(list), maxItems)] {
			m, c := errorObject(item, depth-1)
			if code = cmp.Or(code, c); m != "" && !slices.Contains(messages, m) {
				messages = append(messages, m)
			}
		}
		return strings.Join(messages, "; "), code
	}
	var e struct {
		// Non-string values, such as an HTTP status, carry no information.
		Message json.RawMessage `json:"message"`
		Msg     json.RawMessage `json:"msg"`
		Title   json.RawMessage `json:"title"`
		Type    json.RawMessage `json:"type"`
		Status  json.RawMessage `json:"status"`
		Code    json.RawMessage `json:"code"`
		// Param and Loc name the part of the request that is wrong.
		Param json.RawMessage   `json:"param"`
		Loc   []json.RawMessage `json:"loc"`

		Error           json.RawMessage `json:"error"`
		Detail          json.RawMessage `json:"detail"`
		Errors          json.RawMessage `json:"errors"`
		ExternalError   json.RawMessage `json:"external_model_error"`
		ExternalMessage json.RawMessage `json:"external_model_message"`
		Metadata        struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &e); err != nil && !isTypeError(err) {
		return "", ""
	}
	message = cmp.Or(textOf(e.Message), textOf(e.Msg), textOf(e.Title))
	words := []string{textOf(e.Code), textOf(e.Status), textOf(e.Type)}
	for _, inner := range []json.RawMessage{nested(e.Message), e.ExternalError, e.ExternalMessage, e.Error, e.Detail,
		e.Errors} {
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
	if m, c := errorObject(e.Metadata.Raw, depth-1); m != "" && !contains(message, m) { // what the provider behind said
		message = strings.TrimPrefix(message+": "+m, ": ")
		words = slices.Insert(words, 0, c)
	}
	if inner := nested(e.Message); message == "" && inner != nil {
		message = string(inner)
	}
	if param := textOf(e.Param); message != "" && !contains(message, param) {
		message += " (" + param + ")"
	}
	if at := place(e.Loc); message != "" && at != "" {
		message = at + ": " + message
	}
	return message, mostSpecific(words)
}

// isTypeError reports whether a value is JSON that has other types than expected in some places.
func isTypeError(err error) bool {
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok
}

// nested returns an object or a list in place of a text, or in a text; nil if there is none.
func nested(raw json.RawMessage) json.RawMessage {
	if text := textOf(raw); text != "" {
		raw = json.RawMessage(text)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' || !json.Valid(raw) {
		return nil
	}
	return raw
}

// place returns the path of a FastAPI error in the body of the request.
func place(loc []json.RawMessage) string {
	var path []string
	for _, step := range loc {
		path = append(path, cmp.Or(textOf(step), string(step)))
	}
	if len(path) > 1 && path[0] == "body" {
		path = path[1:]
	}
	return strings.Join(path, ".")
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

// plainText returns an error body that is neither JSON with a known form nor markup.
func plainText(body []byte) string {
	if len(body) == 0 || !utf8.Valid(body) || body[0] == '<' {
		return ""
	}
	return string(body)
}

// maxMarkup is the maximum length in bytes of the text of a page.
const maxMarkup = 300

var markup = regexp.MustCompile(`(?is)<(?:head|script|style)\b.*?</(?:head|script|style)>|<!--.*?-->|<[^>]*>`)

// plainMarkup returns the text of an error body that is HTML or XML, or "" for any other body.
func plainMarkup(body []byte) string {
	if len(body) == 0 || !utf8.Valid(body) || body[0] != '<' {
		return ""
	}
	text := htmltext.UnescapeString(markup.ReplaceAllString(string(body), " "))
	return shorten(strings.Join(strings.Fields(text), " "), maxMarkup)
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

// shorten truncates a text to at most most bytes, at a rune boundary.
func shorten(s string, most int) string {
	s = strings.TrimSpace(s)
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
