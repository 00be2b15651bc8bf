package tool

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// checkFilesystem checks the options of a toolset of type filesystem.
func (p *parser) checkFilesystem(entries []entry) {
	for _, e := range entries {
		switch e.key {
		case "path":
			p.text(e)
		case "read_only", "ignore_vcs":
			p.flag(e)
		case "own_files":
			p.texts(e)
		case "post_edit":
			for _, item := range p.maps(e) {
				var path, cmd string
				for _, k := range item {
					switch k.key {
					case "path":
						path = p.text(k)
					case "cmd":
						cmd = p.text(k)
					default:
						p.unknown(k, "an entry of post_edit", []string{"path", "cmd"})
					}
				}
				if path == "" || cmd == "" {
					p.list.Errorf(p.span(e.value), e.path, "missing-key",
						"an entry of post_edit needs a path, which is a pattern, and a cmd")
				}
			}
		}
	}
}

// checkMemory checks the options of a toolset of type memory.
func (p *parser) checkMemory(entries []entry) {
	own, shared := false, false
	for _, e := range entries {
		if e.key != "path" && e.key != "memory" {
			continue
		}
		if p.text(e) == "" && e.key == "memory" {
			p.list.Errorf(p.span(e.value), e.path, "wrong-value",
				"memory must not be empty: it is the name of a shared memory").Hint = "leave it out for a memory of " +
				"this workflow"
		}
		own = own || e.key == "path"
		shared = shared || e.key == "memory"
	}
	if own && shared {
		p.list.Errorf(p.span(entries[0].value), "", "wrong-value",
			"path names a memory of the workflow, memory a shared one; set only one of them")
	}
}

// checkShell checks the options of a toolset of type shell.
func (p *parser) checkShell(entries []entry) {
	for _, e := range entries {
		switch e.key {
		case "env":
			p.checkEnv(e)
		case "working_dir":
			p.text(e)
		case "commands":
			for _, c := range p.texts(e) {
				if strings.TrimSpace(c) == "" {
					p.list.Errorf(p.span(e.value), e.path, "bad-value", "an empty name in commands")
				}
			}
		}
	}
}

// checkScript checks the options of a toolset of type script: the commands that it declares.
func (p *parser) checkScript(entries []entry) {
	declared := false
	for _, e := range entries {
		switch e.key {
		case "env":
			p.checkEnv(e)
		case "working_dir":
			p.text(e)
		case "shell":
			for _, one := range p.entries(e.value, e.path) {
				declared = true
				p.checkOneScript(one)
			}
		}
	}
	if !declared && len(entries) > 0 {
		p.list.Errorf(p.span(entries[0].node), entries[0].path, "missing-key",
			"a toolset of type script needs commands under the key shell")
	}
}

func (p *parser) checkOneScript(one entry) {
	if one.value.Kind != yaml.MappingNode {
		p.list.Errorf(p.span(one.value), one.path, "wrong-type", "script %q must be a map with a cmd, got %s", one.key,
			nodeKind(one.value))
		return
	}
	known := []string{"cmd", "argv", "description", "args", "required", "env", "working_dir", "policy", "output"}
	for _, k := range p.entries(one.value, one.path) {
		switch {
		case !slices.Contains(known, k.key):
			p.unknown(k, "a script", known)
		case k.key == "env":
			p.checkEnv(k)
		}
	}
	b, err := json.Marshal(p.any(one.value))
	var s Script
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		p.list.Errorf(p.span(one.value), one.path, "wrong-type", "script %q: %v", one.key, err)
		return
	}
	for _, problem := range s.Problems(one.key, false) {
		p.list.Errorf(p.span(one.node), one.path, "bad-value", "%s", problem)
	}
}

func (p *parser) checkEnv(e entry) {
	for name := range p.textMap(e) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			p.list.Errorf(p.span(e.value), e.path, "bad-value", "invalid variable name %q", name)
		}
	}
}

// maps returns the entries of each map in a list.
func (p *parser) maps(e entry) [][]entry {
	if isNull(e.value) {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode {
		p.list.Errorf(p.span(e.value), e.path, "wrong-type", "%s must be a list, got %s", e.key, nodeKind(e.value))
		return nil
	}
	var out [][]entry
	for _, item := range e.value.Content {
		out = append(out, p.entries(item, e.path))
	}
	return out
}

func (p *parser) unknown(e entry, where string, keys []string) {
	p.list.Errorf(p.span(e.node), e.path, "unknown-key", "unknown key %q in %s", e.key, where).UnknownKey(e.key, keys)
}
