package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/client/api"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/outbound"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// Config identifies the server.
type Config struct {
	// URL is the http or https URL of the server; it may have a path, under which a proxy serves
	// it.
	URL string
	// Token is sent with every request; "" means that none is sent.
	Token string
}

// Remote is a server. It is safe for concurrent use, except for Wait. The caller must close it.
type Remote struct {
	url, token string

	api  *api.Client
	http *http.Client
	// woken receives a value when something happened that Wait may wait for.
	woken  chan struct{}
	stored atomic.Pointer[storedAnswer]
	most   int64 // the maximum size of an answer in bytes
}

// New returns a Remote without sending anything. It returns a *service.InvalidError if the URL is
// invalid.
func New(cfg Config) (*Remote, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, service.Refuse(errcode.InvalidServerAddress, errcode.Fields{"address": cfg.URL}, nil)
	}
	base := u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/") // a proxy may serve it under a path
	h := outbound.New(outbound.Config{Allow: []string{base}})
	remote := &Remote{url: base, token: cfg.Token, http: h, woken: make(chan struct{}, 1), most: maxAnswer}
	c, err := api.NewClient(base, api.WithHTTPClient(h),
		api.WithRequestEditorFn(func(ctx context.Context, r *http.Request) error {
			remote.sign(ctx, r)
			return nil
		}))
	if err != nil {
		return nil, fmt.Errorf("connect to server: %w", err)
	}
	remote.api = c
	return remote, nil
}

// sign adds the token and the trace context to a request.
func (r *Remote) sign(ctx context.Context, req *http.Request) {
	tracecontext.Forward(ctx, req.Header.Set)
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
}

// DB returns the location of the runs: the URL of the server.
func (r *Remote) DB() string { return r.url }

// Close releases connections.
func (r *Remote) Close() error {
	r.http.CloseIdleConnections()
	return nil
}

// maxAnswer is the maximum size of a response in bytes, also of one in several pages.
const maxAnswer = 256 << 20

// readAll returns a body, or an error if it is larger than a response may be.
func (r *Remote) readAll(body io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(body, r.most+1))
	if err != nil {
		return nil, r.unreachable(err)
	}
	return content, r.checkSize(int64(len(content)))
}

// checkSize returns an error if responses that make up one answer are larger than it may be.
func (r *Remote) checkSize(bytes int64) error {
	if bytes > r.most {
		return fmt.Errorf("%s sent more than %d bytes", r.url, r.most)
	}
	return nil
}

// read decodes a response into v, which may be nil. The error is a *service.InvalidError or one of
// the errors that problem returns.
func (r *Remote) read(res *http.Response, err error, v any) error {
	if err != nil {
		return r.unreachable(err)
	}
	defer res.Body.Close()
	_, err = r.readBody(res, v)
	return err
}

// readBody decodes a response as read does, and returns the size of its body.
func (r *Remote) readBody(res *http.Response, v any) (bytes int64, _ error) {
	defer res.Body.Close()
	body, err := r.readAll(res.Body)
	if err != nil {
		return 0, err
	}
	return int64(len(body)), r.decode(res, body, v)
}

func (r *Remote) decode(res *http.Response, body []byte, v any) error {
	switch {
	case res.StatusCode >= http.StatusBadRequest:
		return r.problem(res.StatusCode, body)
	case v == nil:
		return nil
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%s is not a Hocket server: its answer is not one of the API: %w", r.url, err)
	}
	if isForeign(body, v) {
		return fmt.Errorf("%s is not a Hocket server: its answer is not one of the API", r.url)
	}
	return nil
}

// isForeign reports whether a JSON value, which was decoded into v, has none of the keys of v:
// another server may answer any request with an object of its own. Hocket servers of all versions
// write at least one of the keys that a client reads, next to which they may write others.
func isForeign(body []byte, v any) bool {
	t := reflect.TypeOf(v).Elem()
	if !reflect.ValueOf(v).Elem().IsZero() || t.Kind() != reflect.Struct {
		return false
	}
	if _, isRun := v.(*shortRun); isRun {
		return true // it has an id, and its own decoder accepts any key
	}
	var found map[string]json.RawMessage
	if json.Unmarshal(body, &found) != nil {
		return true
	}
	for key := range found {
		one, _ := json.Marshal(map[string]any{key: nil})
		d := json.NewDecoder(bytes.NewReader(one))
		d.DisallowUnknownFields()
		if d.Decode(reflect.New(t).Interface()) == nil {
			return false
		}
	}
	return true
}

// unreachable returns the error for a server that cannot be reached.
func (r *Remote) unreachable(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // its own text repeats the URL
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.Errno(10061)) { // WSAECONNREFUSED on Windows
		return fmt.Errorf("connect to %s: %w; is hocket serve running there?", r.url, err)
	}
	return fmt.Errorf("connect to %s: %w", r.url, err)
}

// problem converts a problem reported by the server to an error.
func (r *Remote) problem(status int, body []byte) error {
	var p struct {
		Title       string         `json:"title"`
		Detail      string         `json:"detail"`
		Reason      errcode.Code   `json:"reason"`
		Fields      errcode.Fields `json:"fields"`
		Hint        string         `json:"hint"`
		Diagnostics diag.List      `json:"diagnostics"`
	}
	if json.Unmarshal(body, &p) != nil || p.Title == "" {
		return fmt.Errorf("%s is not a Hocket server: it answered with status %d", r.url, status)
	}
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if status == http.StatusUnauthorized {
		return service.Refuse(errcode.TokenRejected, errcode.Fields{"server": r.url, "problem": text}, nil)
	}
	if status >= http.StatusInternalServerError {
		return fmt.Errorf("%s: %s", r.url, text)
	}
	// from a newer server: its own hint is better than none
	if _, known := errcode.Find(p.Reason); !known && p.Hint != "" {
		text += "; " + p.Hint
	}
	return &service.InvalidError{Diagnostics: p.Diagnostics,
		Err: errcode.Received(p.Reason, p.Fields, text, service.Cause(p.Reason))}
}

// Call carries out an operation on the server. The error is a *service.InvalidError or another one
// with the code that the server reported.
func Call[In, Out any](ctx context.Context, r *Remote, o *op.Op[In, Out], in *In) (out Out, err error) {
	return out, r.call(ctx, &o.Operation, in, &out)
}

// call carries out an operation with in, a pointer to its input, and decodes the result into out.
func (r *Remote) call(ctx context.Context, o *op.Operation, in, out any) error {
	req, err := o.Request(ctx, r.url, in)
	if err != nil {
		return err
	}
	r.sign(ctx, req)
	res, err := r.http.Do(req)
	return r.read(res, err, out)
}

// SessionCode creates a one-time code that signs a browser in with the permissions of the token.
func (r *Remote) SessionCode(ctx context.Context) (string, error) {
	var made api.SessionCode
	res, err := r.api.CreateSessionCode(ctx)
	if err := r.read(res, err, &made); err != nil {
		return "", err
	}
	return made.Code, nil
}
