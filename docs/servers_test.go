package docs_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// servers are the names of the servers of recorded exchanges, by the first word of the files.
var servers = map[string]string{
	"anthropic": "Anthropic", "azure": "Azure OpenAI", "bedrock": "Amazon Bedrock", "cerebras": "Cerebras",
	"cloudflare": "Cloudflare Workers AI", "cohere": "Cohere", "copilot": "GitHub Copilot",
	"dashscope": "DashScope (Qwen)", "databricks": "Databricks", "deepseek": "DeepSeek",
	"fastapi":   "servers in FastAPI",
	"fireworks": "Fireworks", "gateway": "other gateways", "gemini": "Google", "githubmodels": "GitHub Models",
	"google": "Google", "groq": "Groq", "huggingface": "Hugging Face", "litellm": "LiteLLM",
	"llamacpp": "llama.cpp", "lmstudio": "LM Studio", "minimax": "MiniMax", "mistral": "Mistral",
	"moonshot": "Moonshot (Kimi)", "ollama": "Ollama", "openai": "OpenAI", "openrouter": "OpenRouter",
	"proxy": "other proxies", "python": "servers in Python", "qwen": "DashScope (Qwen)", "sglang": "SGLang",
	"siliconflow": "SiliconFlow", "together": "Together", "vertex": "Google Vertex AI", "vllm": "vLLM", "xai": "xAI",
	"zhipu": "Z.ai (GLM)",
}

var protocols = map[string]string{
	"anthropic": "Messages", "google": "Gemini API", "openai": "Chat Completions",
}

// Columns of the matrix of servers.
const (
	wholeAnswers  = "whole answers"
	streams       = "streams"
	toolCalls     = "tools"
	structured    = "structured output"
	reasoning     = "reasoning"
	usageCounts   = "usage"
	failedAnswers = "cut and failed answers"
	refusedCalls  = "refusals"
	fullContext   = "context overflow"
)

var columns = []string{wholeAnswers, streams, toolCalls, structured, reasoning, usageCounts, failedAnswers,
	refusedCalls, fullContext}

// namesSource finds what the comment of an exchange says about its source: an address, an issue, a
// file of a repository, or that there is none.
var namesSource = regexp.MustCompile(`https://|RFC \d|[\w.-]+/[\w.-]+(#\d+| [\w./-]+)|public code|[Nn]o source`)

// serverMatrix counts recorded exchanges, by server, protocol and column.
type serverMatrix map[[2]string]map[string]int

// TestServerTable checks that the page on servers has a row for each server and protocol of the
// recorded exchanges, which the tests of internal/model/providers play; -update writes them.
func TestServerTable(t *testing.T) {
	m := serverMatrix{}
	for folder, count := range map[string]func(t *testing.T, file, server string, a *txtar.Archive){
		"exchanges": m.answers, "history": m.history, "refusals": m.refusals, "tools": m.tools,
	} {
		files, err := filepath.Glob("../internal/model/providers/testdata/" + folder + "/*.txtar")
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", folder, err)
		}
		for _, file := range files {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !namesSource.Match(a.Comment) {
				t.Errorf("%s: the comment names no source, and does not say that none was found", file)
			}
			word, _, _ := strings.Cut(filepath.Base(file), "-")
			server := servers[word]
			if server == "" {
				t.Fatalf("%s: there is no name of the server %q", file, word)
			}
			count(t, file, server, a)
		}
	}
	checkTables(t, "servers.md", map[string]string{"<!-- servers -->": m.table()})
}

func (m serverMatrix) add(server, protocol string, columns ...string) {
	row := [2]string{server, protocols[protocol]}
	if m[row] == nil {
		m[row] = map[string]int{}
	}
	for _, c := range columns {
		m[row][c]++
	}
}

// answers counts what the results of answers have.
func (m serverMatrix) answers(t *testing.T, file, server string, a *txtar.Archive) {
	for i := 0; i+1 < len(a.Files); i += 2 {
		answer, result := a.Files[i], "\n"+string(a.Files[i+1].Data)
		if a.Files[i+1].Name != answer.Name+".result" {
			t.Fatalf("%s: %s has no result", file, answer.Name)
		}
		protocol, _, _ := strings.Cut(answer.Name, ".")
		m.add(server, protocol, transfer(answer.Data))
		for column, line := range map[string]string{
			toolCalls: `\ncall `, structured: `\nvalue `, reasoning: `\nthoughts |, [1-9]\d* thoughts`,
			usageCounts:   `\nusage `,
			failedAnswers: `\nfailure |\nstop length`, fullContext: `\nfailure context_length_exceeded`,
		} {
			if regexp.MustCompile(line).MatchString(result) {
				m.add(server, protocol, column)
			}
		}
	}
}

// wantedBack are the fields of reasoning in what is sent back to a server.
var wantedBack = regexp.MustCompile(`"(reasoning|reasoning_content|reasoning_details|thinking|thoughtSignature|` +
	`thought_signature)":`)

// history counts conversations with the result of a tool.
func (m serverMatrix) history(t *testing.T, file, server string, a *txtar.Archive) {
	parts := map[string][]byte{}
	for _, f := range a.Files {
		parts[f.Name] = f.Data
	}
	protocol, _, ok := strings.Cut(string(parts["server"]), " ")
	if !ok {
		t.Fatalf("%s: there is no server", file)
	}
	m.add(server, protocol, transfer(parts["reply"]), toolCalls)
	if wantedBack.Match(parts["sent"]) {
		m.add(server, protocol, reasoning)
	}
}

// refusals counts refusals of whole requests and of their parameters.
func (m serverMatrix) refusals(t *testing.T, file, server string, a *txtar.Archive) {
	want := map[string]string{}
	for line := range strings.Lines(string(a.Files[0].Data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		want[key] = value
	}
	topic := strings.Split(filepath.Base(strings.TrimSuffix(file, ".txtar")), "-")[1]
	if !slices.Contains([]string{"quota", "context", "reason", "parameter"}, topic) {
		t.Fatalf("%s: no test plays the topic %q", file, topic)
	}
	column := refusedCalls
	if want["kind"] == "context_length_exceeded" {
		column = fullContext
	}
	m.add(server, want["protocol"], column)
	switch want["omitted"] {
	case "response_format":
		m.add(server, want["protocol"], structured)
	case "reasoning_effort", "thinking_budget":
		m.add(server, want["protocol"], reasoning)
	}
}

// tools counts refusals of tools.
func (m serverMatrix) tools(_ *testing.T, _, server string, a *txtar.Archive) {
	protocol, _, _ := strings.Cut(string(a.Files[0].Data), " ")
	m.add(server, protocol, toolCalls, refusedCalls)
}

// transfer returns the column of the way in which an answer arrives.
func transfer(answer []byte) string {
	if bytes.HasPrefix(answer, []byte("data:")) || bytes.HasPrefix(answer, []byte("event:")) {
		return streams
	}
	return wholeAnswers
}

func (m serverMatrix) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| server | protocol | %s |\n|%s\n", strings.Join(columns, " | "),
		strings.Repeat(" --- |", len(columns)+2))
	for _, row := range slices.SortedFunc(maps.Keys(m), func(x, y [2]string) int {
		return cmp.Or(strings.Compare(strings.ToLower(x[0]), strings.ToLower(y[0])), strings.Compare(x[1], y[1]))
	}) {
		fmt.Fprintf(&b, "| %s | %s |", row[0], row[1])
		for _, c := range columns {
			cell := "–"
			if n := m[row][c]; n > 0 {
				cell = fmt.Sprint(n)
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}
