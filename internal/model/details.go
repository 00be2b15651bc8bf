package model

import (
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

// details collects what is known about one call in addition to its reply.
type details struct {
	chat.CallDetails
	began time.Time
}

// detailsOf returns details initialized from the request. A program's own client has no endpoint.
func detailsOf(req Request, e Endpoint) *details {
	p := req.Params
	d := &details{began: time.Now(), CallDetails: chat.CallDetails{
		Temperature: p.Temperature, TopP: p.TopP, FrequencyPenalty: p.FrequencyPenalty,
		PresencePenalty: p.PresencePenalty, MaxTokens: p.MaxTokens,
		Reasoning: p.ReasoningEffort, Stop: p.Stop, JSON: req.Schema != nil,
	}}
	if e.BaseURL == "" {
		return d
	}
	d.Stream = true // all adapters request streams
	if u, err := url.Parse(e.BaseURL); err == nil && u.Hostname() != "" {
		d.Server, d.Port = u.Hostname(), 80
		if u.Scheme == "https" {
			d.Port = 443
		}
		if n, err := strconv.Atoi(u.Port()); err == nil {
			d.Port = n
		}
	}
	return d
}

// watch returns an onDelta that records when the first chunk of the response arrived.
func (d *details) watch(onDelta func(Delta)) func(Delta) {
	return func(delta Delta) {
		if d.FirstChunk == 0 && !delta.IsEmpty() {
			d.FirstChunk = time.Since(d.began).Seconds()
		}
		if onDelta != nil {
			onDelta(delta)
		}
	}
}

// attach returns err with the details of its call.
func (d *details) attach(err error) error {
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	with := *failed
	with.Details = &d.CallDetails
	return &with
}
