package service

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/workflow"
)

// MaxDocumentBytes bounds documents and the files beside them (SEC17).
const MaxDocumentBytes = 8 << 20

// toolTypes are the toolsets that kits can open.
var toolTypes = []string{"mcp", "think", "todo"}

// missingTools are tools that documents may name and nothing offers yet (S0-55).
var missingTools = []string{"web_search"}

// LoadOptions say how a document is read.
type LoadOptions struct {
	// Format is `canvas` or `steps`; "" detects it.
	Format string
	// AgentsFile holds agent definitions; a definition inside the document wins. `-` is Stdin, which may be nil otherwise.
	AgentsFile string
	Stdin      io.Reader
}

// ReadFile reads a file that the user named; `-` is in.
func ReadFile(path string, in io.Reader) ([]byte, error) {
	var src io.Reader
	if path == "-" {
		if src = in; in == nil {
			return nil, invalidf("standard input cannot be read here")
		}
	} else {
		f, err := os.Open(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, invalidf("%s: no such file", path)
			}
			return nil, invalidf("%v", err)
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, invalidf("%s is a folder, not a document", path)
		}
		src = f
	}
	data, err := io.ReadAll(io.LimitReader(src, MaxDocumentBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > MaxDocumentBytes {
		return nil, invalidf("%s is larger than the limit of %d bytes (max_document_bytes)", path, MaxDocumentBytes)
	}
	return data, nil
}

// Load reads a document and gives its workflow with every problem found, warnings included. The workflow may run where the list has no errors.
// The error is for files that cannot be read.
func Load(file string, data []byte, opts LoadOptions) (*workflow.Workflow, diag.List, error) {
	fo := format.Options{Format: opts.Format, Toolsets: toolTypes, MissingTools: missingTools}
	var problems diag.List
	if opts.AgentsFile != "" {
		text, err := ReadFile(opts.AgentsFile, opts.Stdin)
		if err != nil {
			return nil, nil, err
		}
		list, ds := agents.Read(opts.AgentsFile, text)
		problems = append(problems, ds...)
		fo.Agents = list
	}
	w, ds := format.Read(file, data, fo)
	return w, append(problems, ds...), nil
}
