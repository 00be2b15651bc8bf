package event

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
)

// Clean gives a text as every store and every model can take it.
func Clean(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// Clean gives the failure with texts that every store can take.
func (f Failure) Clean() Failure {
	f.Code, f.Message = Clean(f.Code), Clean(f.Message)
	return f
}

// CleanMessage gives a model's reply with texts that every store and every model can take.
func CleanMessage(m chat.Message) chat.Message {
	m.Role, m.Text = chat.RoleAssistant, chat.NewText(Clean(m.Text.String()))
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		tc := &m.ToolCalls[i]
		tc.ID, tc.Name = Clean(tc.ID), Clean(tc.Name)
	}
	return m
}

// Compact gives a JSON value without blanks.
func Compact(v Value) Value {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil || b.Len() == len(v) {
		return v
	}
	return b.Bytes()
}

// maxDetail bounds the texts of a call's details, in bytes.
const maxDetail = 256

// CleanDetails gives details with texts that every store can take, and not too long.
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
