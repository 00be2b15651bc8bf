package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

func (p *printer) agent(a *Agent) {
	p.line("agent", ident(a.ID), key("name", a.Name), key("model", a.Model), key("description", a.Description))
	p.in(func() {
		if a.System != "" || a.Template {
			p.line("system", quote(a.System), flag("template", a.Template), flag("tokens", a.Tokens))
		}
		m := a.Params
		p.facts([]string{"params", pointer("temperature", m.Temperature), pointer("topP", m.TopP),
			pointer("frequencyPenalty", m.FrequencyPenalty),
			pointer("presencePenalty", m.PresencePenalty), pointer("maxTokens", m.MaxTokens),
			word("reasoningEffort", m.ReasoningEffort),
			pointer("thinkingBudget", m.ThinkingBudget), list("stop", m.Stop)})
		for _, name := range slices.Sorted(maps.Keys(m.Provider)) {
			p.line("param", quote(name), raw("value", m.Provider[name]))
		}
		p.facts([]string{"fallbacks", list("models", a.Fallbacks), number("retries", a.FallbackRetries),
			duration("cooldown", a.FallbackCooldown)})
		if c := a.Compaction; c != nil {
			p.line("compaction", number("at", c.At), number("tokens", c.Tokens), number("keep", c.Keep),
				list("pin", c.Pin), word("model", c.Model))
		}
		p.facts([]string{"tools", list("names", a.Tools)})
		p.toolsets(a.Toolsets, a.Permissions)
		for _, s := range a.Subagents {
			p.line("subagent", ident(s.Agent), key("tool", s.Tool), key("description", s.Description))
		}
		p.facts([]string{"handoffs", list("agents", a.Handoffs)})
		p.facts([]string{"facts", flag("date", a.AddDate), flag("environment", a.AddEnvironment),
			list("files", a.PromptFiles)})
		for _, name := range slices.Sorted(maps.Keys(a.Commands)) {
			p.line("command", ident(name), key("description", a.Commands[name].Description),
				key("instruction", a.Commands[name].Instruction))
		}
		p.facts([]string{"welcome", key("text", a.Welcome)})
		if o := a.Output; o != nil {
			p.line("output", key("name", o.Name), raw("schema", o.Schema), flag("strict", o.Strict),
				pointer("repairs", o.Repairs))
		}
		p.facts([]string{"limits", number("maxTurns", a.MaxTurns), number("noProgress", a.NoProgress),
			word("subagentFailure", a.SubagentFailure), word("toolCalls", a.ToolCalls)})
		p.facts([]string{"text", flag("trim", a.Trim), key("empty", a.EmptyText)})
	})
}

func (p *printer) toolsets(sets []json.RawMessage, permissions []Permissions) {
	for _, t := range sets {
		p.line("toolset", raw("spec", t))
	}
	for _, m := range permissions {
		p.line("permissions", list("allow", m.Allow), list("ask", m.Ask), list("deny", m.Deny), list("edit", m.Edit),
			word("default", m.Default))
	}
}

func (p *printer) node(n *Node) {
	p.line("node", ident(n.ID), ident(string(n.Kind)), key("name", n.Name), key("parent", n.Parent),
		flag("hidden", n.Hidden))
	p.in(func() {
		if v := n.Agent; v != nil {
			p.line("agent", ident(v.Agent))
			p.line("prompt", ident(string(v.Prompt.Mode)), quote(v.Prompt.Text),
				key("default", v.Prompt.Default), flag("expressions", v.Prompt.Expressions))
			if r := v.Routing; r != nil {
				p.line("routing", key("tool", r.Tool), flag("toolOnly", r.ToolOnly), list("values", r.Values),
					list("calls", r.Calls),
					key("else", r.Else))
			}
		}
		if v := n.Tool; v != nil {
			p.line("tool", ident(v.Tool), raw("args", v.Args), key("argsFunc", v.ArgsFunc), key("workflow", v.Workflow))
		}
		if v := n.Func; v != nil {
			p.line("func", ident(v.Func))
		}
		if v := n.Decide; v != nil {
			p.line("decide", word("else", v.Else))
			for _, k := range v.Cases {
				p.line("case", ident(k.Port), "when", condition(&k.When))
			}
		}
		if v := n.Wait; v != nil {
			p.line("wait", ident(v.Kind), key("prompt", v.Prompt), list("options", v.Options),
				duration("deadline", v.Deadline), duration("remind", v.Remind), list("roles", v.Roles),
				flag("route", v.Route), flag("autoApprove", v.AutoApprove), key("promptFunc", v.PromptFunc),
				key("signal", v.Signal), key("mapper", v.Mapper),
				flag("template", v.Template), raw("schema", v.Schema), flag("failReject", v.FailReject),
				word("onDeadline", v.OnDeadline), raw("default", v.Default), key("defaultFunc", v.DefaultFunc),
				key("await", v.Await))
			if v.Filter != nil {
				p.line("filter", condition(v.Filter))
			}
		}
		if v := n.Fork; v != nil {
			p.line("fork", "join="+ident(v.Join), word("until", v.Until), number("quorum", v.Quorum),
				word("onFailure", v.OnFailure),
				number("maxConcurrency", v.MaxConcurrency), word("shape", v.Shape), key("merge", v.Merge))
			for _, b := range v.Branches {
				p.line("branch", ident(b.ID))
			}
		}
		if v := n.Join; v != nil {
			p.line("join", word("fork", v.Fork))
		}
		if v := n.Subflow; v != nil {
			p.line("subflow", ident(v.Flow), key("input", v.Input), key("mapper", v.Mapper))
		}
		if v := n.Set; v != nil {
			p.line("set", raw("value", v.Value))
		}
		if v := n.Sleep; v != nil {
			p.line("sleep", key("for", v.For), key("until", v.Until))
		}
		if v := n.Map; v != nil {
			p.line("map", raw("over", v.Over), key("overFunc", v.OverFunc), "entry="+ident(v.Entry), key("as", v.As),
				number("maxConcurrency", v.MaxConcurrency),
				word("onItemError", v.OnItemError), key("merge", v.Merge))
		}
		if v := n.End; v != nil {
			p.line("end", word("status", v.Status), raw("output", v.Output), key("message", v.Message))
		}
		if n.If != nil {
			p.line("if", condition(n.If))
		}
		if v := n.Catch; v != nil {
			p.line("catch", word("port", v.Port), raw("default", v.Default))
		}
		if r := n.Retry; r != nil {
			p.line("retry", "maxRetries="+strconv.Itoa(r.MaxRetries), duration("delay", r.Delay),
				number("multiplier", r.Multiplier),
				list("on", r.On), key("func", r.Func))
		}
		if b := n.Budget; b != nil {
			p.facts([]string{"budget", number("maxTokens", b.MaxTokens), number("maxCostUSD", b.MaxCostUSD),
				number("maxCalls", b.MaxCalls), word("uncounted", b.Uncounted)})
		}
		p.facts([]string{"step", duration("timeout", n.Timeout), duration("callTimeout", n.CallTimeout),
			flag("first", n.First), flag("recovery", n.Recovery), key("onError", n.OnError)})
		p.facts([]string{"reads", list("nodes", n.Reads)})
		for _, note := range n.Notes {
			p.line("note", word("port", note.Port), quote(note.Text), key("target", note.Target))
		}
	})
}
