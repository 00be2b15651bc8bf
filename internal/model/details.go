package model

import (
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
)

// details collects what is known of one call beside its answer.
type details struct {
	chat.CallDetails
	began time.Time
}

// detailsOf begins with what the request says. A program's own client has no endpoint.
func detailsOf(req Request, e Endpoint) *details {
	p := req.Params
	d := &details{began: time.Now(), CallDetails: chat.CallDetails{
		Temperature: p.Temperature, TopP: p.TopP, FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, MaxTokens: p.MaxTokens,
		Reasoning: p.ReasoningEffort, Stop: p.Stop, JSON: req.Schema != nil,
	}}
	if e.BaseURL == "" {
		return d
	}
	d.Stream = true // all adapters ask for streams
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

// watch gives an onDelta that notes when the first piece of the answer came.
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

// in gives a failure with the details of its call.
func (d *details) in(err error) error {
	failed, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	with := *failed
	with.Details = &d.CallDetails
	return &with
}
