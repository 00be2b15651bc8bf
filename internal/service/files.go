package service

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/tool"
)

// Files are the files beside a document that a run needs and that are kept with it (D19). A nil slice is no file; the names are for messages.
type Files struct {
	ToolsFile, RepliesFile string
	Tools, Replies         []byte
}

// check reads the files and gives all their problems.
func (f Files) check() (*script.Script, diag.List) {
	var (
		problems diag.List
		replies  *script.Script
	)
	if f.Tools != nil {
		_, problems = tool.ParseToolsFile(f.ToolsFile, f.Tools)
	}
	if f.Replies != nil {
		s, more := script.Parse(f.RepliesFile, f.Replies)
		replies, problems = s, append(problems, more...)
	}
	return replies, problems
}

// given is what was given again to a run that is resumed.
type given struct {
	tools, replies []byte
	// script answers from replies, which are not those that the run was started with, so that what the journal says of used entries is not of
	// them. It lives as long as the process: the run may pause and go on.
	script *script.Client
}

// Give lets a run go on in this process with other files than those that it was started with (D19). Call it before the run is resumed or answered.
//
// A reply script equal to the stored one goes on where that one was; any other begins anew. Problems that are no errors are returned beside a nil
// error. Errors: *InvalidError.
func (s *Service) Give(run string, f Files) (diag.List, error) {
	replies, problems := f.check()
	if problems.HasErrors() {
		return nil, &InvalidError{Diagnostics: problems}
	}
	g := &given{tools: f.Tools, replies: f.Replies}
	if replies != nil {
		g.script = script.New(replies, nil)
	}
	s.kits.mu.Lock()
	defer s.kits.mu.Unlock()
	s.kits.again[run] = g
	return problems, nil
}

func (k *kits) givenTo(run string) *given {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.again[run]
}
