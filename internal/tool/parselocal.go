package tool

import (
	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/diag"
)

// checkFilesystem judges the options of a toolset of type filesystem.
func (p *parser) checkFilesystem(entries []entry) {
	for _, e := range entries {
		switch e.key {
		case "path":
			p.text(e)
		case "read_only", "ignore_vcs":
			p.flag(e)
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
					p.list.Errorf(p.span(e.value), e.path, "missing-key", "an entry of post_edit needs a path, which is a pattern, and a cmd")
				}
			}
		}
	}
}

// maps gives the entries of each map of a list.
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
	d := p.list.Errorf(p.span(e.node), e.path, "unknown-key", "unknown key %q in %s", e.key, where)
	d.Hint = diag.DidYouMean(e.key, keys)
}
