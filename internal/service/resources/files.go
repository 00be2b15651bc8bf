package resources

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/tool"
)

// Files are the files that accompany a document, that a run needs and that are stored with it
// (D19). A nil slice means no file; the names are for messages.
type Files struct {
	ToolsFile, RepliesFile string
	Tools, Replies         []byte
	// AllowUnknown turns unknown keys and types of toolsets in them into warnings; see
	// [diag.List.AllowUnknown].
	AllowUnknown bool
}

// Problems returns all problems of the files, including warnings. Start and Give reject files with
// errors.
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

// Over returns f, with unset files taken from below.
func (f Files) Over(below Files) Files {
	if f.Tools == nil {
		f.Tools, f.ToolsFile = below.Tools, below.ToolsFile
	}
	if f.Replies == nil {
		f.Replies, f.RepliesFile = below.Replies, below.RepliesFile
	}
	return f
}

// parseTools parses a file of --tools that was checked before: unknown names in it were allowed
// then.
func parseTools(file string, data []byte) ([]tool.Spec, error) {
	specs, problems := tool.ParseToolsFile(file, data)
	problems.AllowUnknown()
	return specs, problems.Err()
}

// given holds the replacement files of a resumed run.
type given struct {
	tools, replies []byte
	// script replies from replies, which differ from the replies that the run was started with, so
	// that the used entries in the journal do not refer to them. It lives as long as the process:
	// the run may pause and continue.
	script *script.Client
}

// Give lets a run continue in this process with files other than those that it was started with
// (D19). Call it before the run is resumed or answered.
//
// A reply script equal to the stored one continues at its position; any other starts from the
// beginning. Give returns an *InvalidError if the files have errors.
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

// Inherit passes the replacement files of the parent on to a run.
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
