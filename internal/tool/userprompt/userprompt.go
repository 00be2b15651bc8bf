package userprompt

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/internal/tool"
)

// Name is the name of the one tool.
const Name = "user_prompt"

const instructions = `## Asking the user

Use user_prompt when you need something that only the user can provide: a choice, a missing value, a confirmation. ` +
	`Ask one thing at a time.`

// Type returns the tool type that opens toolsets of type `user_prompt`. They need nothing, hold no
// state and have no options.
func Type() tool.Type {
	return tool.Type{Open: func(spec tool.Spec) (tool.Toolset, error) { return &toolset{name: spec.Title()}, nil }}
}

type toolset struct {
	name   string
	closed atomic.Bool
}

func (t *toolset) Name() string { return t.name }

func (t *toolset) Tools(context.Context) ([]tool.Tool, error) {
	if t.closed.Load() {
		return nil, tool.ErrClosed
	}
	return []tool.Tool{prompt{t}}, nil
}

func (t *toolset) Instructions() string { return instructions }

func (t *toolset) Close() error {
	t.closed.Store(true)
	return nil
}

type prompt struct{ set *toolset }

func (prompt) Def() chat.ToolDef {
	return chat.ToolDef{
		Name: Name,
		Description: "Ask the user a question and wait for the answer, which is the result of the call: text, or a " +
			"JSON value that matches the schema. " +
			"Give options if the user has to choose.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"message":{"type":"string","minLength":1,"description":"The question"},` +
			`"title":{"type":"string","description":"A short heading"},` +
			`"options":{"type":"array","items":{"type":"string"},"description":"Answers to choose from"},` +
			`"schema":{"type":"object","description":"JSON Schema that the answer must fit"}},` +
			`"required":["message"],"additionalProperties":false}`),
	}
}

// Policy returns retry, because asking changes nothing.
func (prompt) Policy() tool.Policy { return tool.PolicyRetry }

// Concurrent implements tool.Concurrent: several questions are asked at once.
func (prompt) Concurrent() bool { return true }

func (p prompt) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case p.set.closed.Load():
		return tool.Result{}, tool.ErrClosed
	}
	var args struct {
		Message string          `json:"message"`
		Title   string          `json:"title"`
		Options []string        `json:"options"`
		Schema  json.RawMessage `json:"schema"`
	}
	if err := c.Decode(&args); err != nil {
		return tool.Result{}, err
	}
	if len(args.Schema) > 0 {
		if _, err := schema.Compile(args.Schema); err != nil {
			return tool.Result{}, tool.Errorf(tool.KindInvalidArguments, Name, "the user was not asked: %w", err)
		}
		if len(args.Options) == 0 {
			args.Options = choices(args.Schema)
		}
	}
	return tool.Result{},
		&tool.HoldError{Hold: tool.Hold{Kind: tool.HoldQuestion, Prompt: words(c.Agent, args.Title, args.Message),
			Options: args.Options, Schema: args.Schema}}
}

// words returns the prompt, which says who asks what.
func words(agent, title, message string) string {
	who := "A tool node asks:"
	if agent != "" {
		who = "Agent " + strconv.Quote(agent) + " asks:"
	}
	if title = strings.TrimSpace(title); title != "" {
		who += " " + title + "\n"
	} else {
		who += " "
	}
	return who + message
}

// choices returns the strings that a schema allows, or nil if it lists none.
func choices(raw json.RawMessage) []string {
	var s struct {
		Type string   `json:"type"`
		Enum []string `json:"enum"`
	}
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	if s.Type == "boolean" {
		return []string{"true", "false"}
	}
	return s.Enum
}
