package event

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// Clean returns s as valid UTF-8, which every store and every model accepts.
func Clean(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// Clean returns the failure with strings that every store accepts.
func (f Failure) Clean() Failure {
	f.Code, f.Message = Clean(f.Code), Clean(f.Message)
	return f
}

// CleanMessage returns a model's reply with strings that every store and every model accept.
func CleanMessage(m chat.Message) chat.Message {
	m.Role, m.Text = chat.RoleAssistant, chat.NewText(Clean(m.Text.String()))
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		tc := &m.ToolCalls[i]
		tc.ID, tc.Name = Clean(tc.ID), Clean(tc.Name)
	}
	return m
}

// Compact returns a JSON value without insignificant whitespace.
func Compact(v Value) Value {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil || b.Len() == len(v) {
		return v
	}
	return b.Bytes()
}

// maxDetail is the maximum length of the strings in a call's details, in bytes.
const maxDetail = 256

// CleanDetails returns details with strings that every store accepts, truncated to their maximum
// length.
func CleanDetails(d *chat.CallDetails) *chat.CallDetails {
	if d == nil {
		return nil
	}
	short := func(s string) string { return Clean(s[:min(len(s), maxDetail)]) }
	out := *d
	out.ID, out.Model, out.Server, out.Reasoning = short(d.ID), short(d.Model), short(d.Server), short(d.Reasoning)
	out.Stop = nil
	for _, s := range d.Stop {
		out.Stop = append(out.Stop, short(s))
	}
	return &out
}
