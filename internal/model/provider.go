package model

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Protocol is the protocol that a provider speaks; it determines the adapter.
type Protocol string

// The protocols of providers.
const (
	ProtocolOpenAI    Protocol = "openai"
	ProtocolAnthropic Protocol = "anthropic"
	ProtocolGoogle    Protocol = "google"
)

// Env reads one environment variable; an empty value is equivalent to none. os.Getenv is an Env.
type Env func(name string) string

// provider is a provider that Hocket knows by name.
type provider struct {
	name     string
	protocol Protocol
	baseURL  string
	// baseEnv is the environment variable that overrides the server, or "" if there is none.
	baseEnv string
	// keyEnv are the environment variables that may hold the key; the first one set takes
	// precedence. It is empty if no key is needed.
	keyEnv []string
}

// builtins returns the providers whose address and key variable are well established, starting with
// the three that have their own adapters and Ollama. The others speak Chat Completions.
func builtins() []provider {
	compatible := func(name, baseURL, keyEnv string) provider {
		return provider{name: name, protocol: ProtocolOpenAI, baseURL: baseURL, keyEnv: []string{keyEnv}}
	}
	return []provider{
		{name: "openai", protocol: ProtocolOpenAI, baseURL: "https://api.openai.com/v1", baseEnv: "OPENAI_BASE_URL",
			keyEnv: []string{"OPENAI_API_KEY"}},
		{name: "anthropic", protocol: ProtocolAnthropic, baseURL: "https://api.anthropic.com",
			baseEnv: "ANTHROPIC_BASE_URL", keyEnv: []string{"ANTHROPIC_API_KEY"}},
		{name: "google", protocol: ProtocolGoogle, baseURL: "https://generativelanguage.googleapis.com",
			baseEnv: "GOOGLE_GEMINI_BASE_URL", keyEnv: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}},
		{name: "ollama", protocol: ProtocolOpenAI, baseURL: "http://127.0.0.1:11434/v1", baseEnv: "OLLAMA_HOST"},
		{name: "dmr", protocol: ProtocolOpenAI, baseURL: "http://127.0.0.1:12434/engines/v1"},
		compatible("baseten", "https://inference.baseten.co/v1", "BASETEN_API_KEY"),
		compatible("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
		compatible("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
		compatible("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
		compatible("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
		compatible("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN"),
		compatible("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
		compatible("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
		compatible("nebius", "https://api.studio.nebius.com/v1", "NEBIUS_API_KEY"),
		compatible("nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
		compatible("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
		compatible("requesty", "https://router.requesty.ai/v1", "REQUESTY_API_KEY"),
		compatible("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
		compatible("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
	}
}

// Known returns the names of the providers that need no definition, in listing order.
func Known() []string {
	all := builtins()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	return names
}

// builtin looks up a known provider by name.
func builtin(name string) (provider, bool) {
	all := builtins()
	i := slices.IndexFunc(all, func(p provider) bool { return p.name == name })
	if i < 0 {
		return provider{}, false
	}
	return all[i], true
}

// ownProvider returns the known provider after which a protocol is named.
func ownProvider(p Protocol) (provider, bool) { return builtin(string(p)) }

// base returns the address under env, and reports whether it came from the environment.
func (p provider) base(env Env) (baseURL string, fromEnv bool, err error) {
	value := ""
	if p.baseEnv != "" {
		value = strings.TrimSpace(env(p.baseEnv))
	}
	if value == "" {
		return p.baseURL, false, nil
	}
	if p.name == "ollama" {
		value = ollamaURL(value)
	}
	baseURL, err = cleanURL(value)
	if err != nil {
		return "", true, fmt.Errorf("%s: %w", p.baseEnv, err)
	}
	return baseURL, true, nil
}

// key returns the first key that is set, with the name of its variable.
func (p provider) key(env Env) (key, name string) {
	for _, name := range p.keyEnv {
		if key := strings.TrimSpace(env(name)); key != "" {
			return key, name
		}
	}
	return "", ""
}

// ollamaURL parses OLLAMA_HOST as Ollama itself does: scheme, port and host may each be missing,
// and a server listening on all interfaces is reached through loopback.
func ollamaURL(value string) string {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil {
		return value
	}
	host, port := u.Hostname(), u.Port()
	switch host {
	case "", "0.0.0.0", "::":
		host = "127.0.0.1"
	}
	if port == "" {
		port = "11434"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u.Host = host + ":" + port
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1"
	}
	return u.String()
}

// cleanURL validates a provider's address and removes its trailing slash. The error never shows a
// possible password in it.
func cleanURL(value string) (string, error) {
	u, err := url.Parse(value)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return "", fmt.Errorf("%q is not an http or https URL", Scrub(value))
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// shownURL returns an address without user, password, query and fragment.
func shownURL(value string) string {
	u, err := url.Parse(value)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
