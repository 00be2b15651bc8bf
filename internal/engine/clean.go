package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// clean gives a text as every store and every model can take it.
func clean(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// clean gives the failure with texts that every store can take.
func (f Failure) clean() Failure {
	f.Code, f.Message = clean(f.Code), clean(f.Message)
	return f
}

// cleanMessage gives a model's reply with texts that every store and every model can take.
func cleanMessage(m chat.Message) chat.Message {
	m.Role, m.Text = chat.RoleAssistant, chat.NewText(clean(m.Text.String()))
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		tc := &m.ToolCalls[i]
		tc.ID, tc.Name = clean(tc.ID), clean(tc.Name)
	}
	return m
}

// compacted gives a JSON value without blanks.
func compacted(v Value) Value {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil || b.Len() == len(v) {
		return v
	}
	return b.Bytes()
}

// maxDetail bounds the texts of a call's details, in bytes.
const maxDetail = 256

// cleanDetails gives details with texts that every store can take, and not too long.
func cleanDetails(d *chat.CallDetails) *chat.CallDetails {
	if d == nil {
		return nil
	}
	short := func(s string) string { return clean(s[:min(len(s), maxDetail)]) }
	out := *d
	out.ID, out.Model, out.Server, out.Reasoning = short(d.ID), short(d.Model), short(d.Server), short(d.Reasoning)
	out.Stop = nil
	for _, s := range d.Stop {
		out.Stop = append(out.Stop, short(s))
	}
	return &out
}
