// Package provider lets programs that embed Hocket call the models of OpenAI, Anthropic, Google, Ollama and servers that speak OpenAI's protocol.
//
// It stands apart because it brings along the SDKs of three providers, which package hocket itself refuses to. It holds no state: [All] is an option of
// hocket.Open. Keys and addresses come from the engine's environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY or GEMINI_API_KEY, and the others
// that docs/configuration.md lists. Nothing is connected or looked up before the first call.
package provider

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/parts"
)

// All gives an engine every model provider that Hocket knows. Requests go through the proxy of the process's environment, if there is one, and reach the
// address of their provider and nothing else that is private (SEC8).
func All() hocket.Option {
	return func(p *parts.Parts) { p.Adapters = model.Factories(providers.Adapters(nil)) }
}
