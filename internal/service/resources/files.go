package resources

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/tool"
)

// Files are the files beside a document that a run needs and that are kept with it (D19). A nil slice is no file; the names are for messages.
type Files struct {
	ToolsFile, RepliesFile string
	Tools, Replies         []byte
	// AllowUnknown makes unknown keys and types of toolsets in them warnings: see [diag.List.AllowUnknown].
	AllowUnknown bool
}

// Problems gives all problems of the files, warnings too. Start and Give refuse files with errors.
func (f Files) Problems() diag.List {
	_, problems := f.Check()
	return problems
}

func (f Files) Check() (*script.Script, diag.List) {
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
	if f.AllowUnknown {
		problems.AllowUnknown()
	}
	return replies, problems
}

// Over gives f, with what it leaves open from below.
func (f Files) Over(below Files) Files {
	if f.Tools == nil {
		f.Tools, f.ToolsFile = below.Tools, below.ToolsFile
	}
	if f.Replies == nil {
		f.Replies, f.RepliesFile = below.Replies, below.RepliesFile
	}
	return f
}

// parseTools reads a file of --tools that was checked before: unknown names in it were allowed then.
func parseTools(file string, data []byte) ([]tool.Spec, error) {
	specs, problems := tool.ParseToolsFile(file, data)
	problems.AllowUnknown()
	return specs, problems.Err()
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
// A reply script equal to the stored one goes on where that one was; any other begins anew. Errors: *InvalidError.
func (op *Opener) Give(run string, f Files) error {
	replies, problems := f.Check()
	if problems.HasErrors() {
		return &failure.InvalidError{Diagnostics: problems}
	}
	g := &given{tools: f.Tools, replies: f.Replies}
	if replies != nil {
		g.script = script.New(replies, nil)
	}
	op.give(run, g)
	return nil
}

func (op *Opener) give(run string, g *given) {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.again[run] = g
}

// Inherit gives a run the files that were given to its parent again.
func (op *Opener) Inherit(run, parent string) {
	if g := op.givenTo(parent); g != nil {
		op.give(run, g)
	}
}

func (op *Opener) givenTo(run string) *given {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.again[run]
}
