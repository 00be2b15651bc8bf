package openai

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// dialect is what a conversation must look like for one server and model.
type dialect struct {
	// from names the server and the model. What they want back is sent to no other: servers reject
	// fields that they do not know, and signatures of other models.
	from string
	// reasoned means that each assistant message needs reasoning_content, even if another model
	// wrote it. DeepSeek and Moonshot reject a conversation with tools otherwise.
	reasoned bool
	// validID reports whether the server accepts an id of a tool call.
	validID func(string) bool
}

// dialectOf returns the dialect of the server at cfg.BaseURL for a request.
func dialectOf(cfg Config, req model.Request) dialect {
	host := cfg.BaseURL
	if u, err := url.Parse(cfg.BaseURL); err == nil {
		host = u.Hostname()
	}
	d := dialect{from: host + "/" + req.Model, validID: func(id string) bool { return id != "" }}
	switch {
	case cfg.Own:
		d.validID = func(id string) bool { return id != "" && len(id) <= 40 }
	case host == "api.deepseek.com", host == "api.moonshot.ai", host == "api.moonshot.cn":
		d.reasoned = len(req.Tools) > 0
	case host == "api.mistral.ai":
		d.validID = func(id string) bool { return len(id) == adapter.ShortID && adapter.IsName(id, "") }
	}
	return d
}

// extra is the form of Message.Extra and ToolCall.Extra by which this adapter recognizes its own
// data: fields to be sent back with the message or the call.
type extra struct {
	OpenAI struct {
		From   string                     `json:"from"`
		Fields map[string]json.RawMessage `json:"fields"`
	} `json:"openai"`
}

// keep returns the Extra with which fields are sent back to the sender, or nil if there are none.
func (d dialect) keep(fields map[string]json.RawMessage) json.RawMessage {
	if len(fields) == 0 {
		return nil
	}
	var e extra
	e.OpenAI.From, e.OpenAI.Fields = d.from, fields
	raw, err := json.Marshal(e)
	if err != nil {
		return nil // the fields were decoded from JSON
	}
	return raw
}

// kept returns the fields of an Extra that the server wants back.
func (d dialect) kept(raw json.RawMessage) map[string]json.RawMessage {
	var e extra
	if len(raw) == 0 || json.Unmarshal(raw, &e) != nil || e.OpenAI.From != d.from {
		return nil
	}
	return e.OpenAI.Fields
}

// write writes the fields that the server wants back, each with the separator after it.
func (d dialect) write(p *adapter.Parts, raw json.RawMessage) {
	fields := d.kept(raw)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p.JSON(name)
		p.Raw(":")
		p.JSON(fields[name])
		p.Raw(",")
	}
}

// reasoningDetails accumulates the blocks of reasoning_details, which OpenRouter wants back whole:
// their signatures are about the entire text.
type reasoningDetails []map[string]json.RawMessage

// add adds the blocks of one chunk. A block of text continues the last one if type and index are
// the same.
func (r *reasoningDetails) add(raw string) {
	var list reasoningDetails
	if raw == "" || json.Unmarshal([]byte(raw), &list) != nil {
		return
	}
	for _, block := range list {
		last := len(*r) - 1
		if last < 0 || !continues((*r)[last], block) {
			*r = append(*r, block)
			continue
		}
		into := (*r)[last]
		for name, value := range block {
			var before, more string
			switch {
			case string(value) == "null":
			case (name == "text" || name == "summary") && json.Unmarshal(value, &more) == nil:
				_ = json.Unmarshal(into[name], &before) // absent or null: nothing before
				into[name] = adapter.Quote(before + more)
			default:
				into[name] = value
			}
		}
	}
}

func continues(last, block map[string]json.RawMessage) bool {
	kind := string(block["type"])
	return (kind == `"reasoning.text"` || kind == `"reasoning.summary"`) && kind == string(last["type"]) &&
		string(block["index"]) == string(last["index"])
}
