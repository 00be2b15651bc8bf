package runsapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
)

// resumeBody is the body of the operation resumeRun. It has no new limits, since nothing shows that
// a caller may raise them.
type resumeBody struct {
	Decision  string          `json:"decision"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"`
	Note      string          `json:"note"`
	Wait      string          `json:"wait"`
	Node      string          `json:"node"`
}

// maxKey is the maximum length of the Idempotency-Key header.
const maxKey = 255

func (h *Handler) resume(w http.ResponseWriter, r *http.Request, who string) error {
	var b resumeBody
	if err := h.read(w, r, &b); err != nil {
		return err
	}
	key := r.Header.Get("Idempotency-Key")
	switch {
	case b.Decision != "" && len(b.Input) > 0:
		return badf(http.StatusUnprocessableEntity, "body: decision and input exclude each other")
	case len(b.Arguments) > 0 && b.Decision == "":
		return badf(http.StatusUnprocessableEntity, "body: arguments need the decision approve")
	case b.Wait != "" && b.Node != "":
		return badf(http.StatusUnprocessableEntity, "body: wait and node exclude each other")
	case b.Decision == "" && len(b.Input) == 0 && (b.Note != "" || b.Wait != "" || b.Node != ""):
		return badf(http.StatusUnprocessableEntity, "body: missing answer: decision or input")
	case len(key) > maxKey:
		return badf(http.StatusUnprocessableEntity, "header.Idempotency-Key: has %d bytes; at most %d are allowed",
			len(key), maxKey)
	}
	ctx, id, s := r.Context(), r.PathValue("id"), h.cfg.Service
	p := service.Proceed{By: service.Actor{Name: who, Channel: event.ChannelHTTP}, MayApprove: func() error {
		_, err := h.authorize(r, ActionApprove, id)
		return err
	}}
	if b.Decision != "" || len(b.Input) > 0 {
		p.Answer = &service.AnswerRequest{Wait: b.Wait, Node: b.Node, Note: b.Note, Value: b.Input,
			Arguments: b.Arguments, Key: key}
		if b.Decision != "" {
			p.Answer.Value, p.Answer.Decision = service.Decide(b.Decision), true
		}
	}
	rec, err := s.ReadShort(ctx, id)
	if err != nil {
		return err
	}
	if p, err = rec.Addressed(p); err != nil {
		return err
	}
	if err := withStoreTimeout(ctx, func(ctx context.Context) error { return s.Proceed(ctx, rec, p) }); err != nil {
		return err
	}
	status := http.StatusOK
	if p.Answer != nil {
		switch _, left, err := s.Left(ctx, id); {
		case err != nil:
			return err
		case left:
			status = http.StatusAccepted
		}
	}
	return h.run(w, r, status, view.Page{Limit: view.DefaultPage})
}

// maxReason is the maximum length of the reason of a cancellation.
const maxReason = 2000

func (h *Handler) cancel(w http.ResponseWriter, r *http.Request, who string) error {
	var b op.CancelInputBody
	if err := h.read(w, r, &b); err != nil {
		return err
	}
	if len(b.Reason) > maxReason {
		return badf(http.StatusUnprocessableEntity, "body.reason: has %d bytes; at most %d are allowed", len(b.Reason),
			maxReason)
	}
	ctx, id, s := r.Context(), r.PathValue("id"), h.cfg.Service
	c := &op.Caller{Caller: &transport.Caller{Principal: access.Principal{Name: who, Role: access.RoleRun}, Service: s},
		Channel: event.ChannelHTTP}
	in := &op.CancelIn{RunPath: op.RunPath{ID: id}, Body: &op.CancelInputBody{Reason: b.Reason}}
	if err := withStoreTimeout(ctx, func(ctx context.Context) error {
		_, err := op.CancelRun.Do(ctx, c, in)
		return err
	}); err != nil {
		return err
	}
	return h.run(w, r, http.StatusOK, view.Page{Limit: view.DefaultPage})
}

// read reads the body of a request that changes a run: a JSON object with a JSON content type,
// which no form on a page of another site can send.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, to any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return badf(http.StatusUnsupportedMediaType, "send Content-Type: application/json")
	}
	if packed := r.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return badf(http.StatusUnsupportedMediaType, "compressed request bodies are not supported")
	}
	data, err := transport.ReadJSON(w, r, h.cfg.MaxBody)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	if !utf8.Valid(data) {
		return badf(http.StatusBadRequest, "the body is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return badf(http.StatusUnprocessableEntity, "body: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return badf(http.StatusBadRequest, "the body has more than one JSON value")
	}
	return nil
}
