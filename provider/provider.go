// Package provider lets programs that embed Hocket call the models of OpenAI, Anthropic, Google,
// Ollama and servers that speak OpenAI's protocol.
//
// It is separate because it depends on the SDKs of three providers, on which package hocket itself
// does not depend. It holds no state: [All] is an option of hocket.Open. API keys and addresses
// come from the engine's environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY or
// GEMINI_API_KEY, and the others listed in docs/configuration.md. Nothing is connected or looked up
// before the first call.
package provider

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/parts"
)

// All enables every model provider that Hocket knows. Requests use the proxy from the process's
// environment, if there is one, and can reach the address of their provider but no other private
// address.
func All() hocket.Option {
	return func(p *parts.Parts) { p.Adapters = model.Factories(providers.Adapters(nil)) }
}
