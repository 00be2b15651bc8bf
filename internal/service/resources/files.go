package resources

import (
	"encoding/json"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/driver"
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
	// [diag.List.AllowUnknown]. The permissions of the run's document may then name tools that no
	// server has.
	AllowUnknown bool
}

// Problems returns all problems of the files, including warnings. Start and Give reject files with
// errors.
func (f Files) Problems() diag.List {
	_, problems := f.Check()
	return problems
}

// Check returns the parsed replies, if there are any, and all problems of the files, including
// warnings.
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

// parseTools parses a --tools file that was checked before: unknown names in it were allowed then.
func parseTools(file string, data []byte) ([]tool.Spec, error) {
	specs, problems := tool.ParseToolsFile(file, data)
	problems.AllowUnknown()
	return specs, problems.Err()
}

// replacementFiles holds the replacement files of a resumed run.
type replacementFiles struct {
	tools, replies []byte
	// script replies from replies. They differ from the replies that the run was started with, so
	// the used entries recorded in the journal do not apply to them. script lives as long as the
	// process: the run may pause and continue.
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
	g := &replacementFiles{tools: f.Tools, replies: f.Replies}
	if replies != nil {
		g.script = script.New(replies, nil)
	}
	op.setReplacement(run, g)
	return nil
}

func (op *Opener) setReplacement(run string, g *replacementFiles) {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.replacements[run] = g
}

// Inherit passes the replacement files of the parent on to a run.
func (op *Opener) Inherit(run, parent string) {
	if g := op.replacementOf(parent); g != nil {
		op.setReplacement(run, g)
	}
}

func (op *Opener) replacementOf(run string) *replacementFiles {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.replacements[run]
}

// Names of the files that are stored with a run (D19).
const (
	FileTools   = "tools"
	FileReplies = "replies"
)

// MetaTrusted holds the hash of what was allowed for a run (SEC5), metaDir the folder against which
// relative paths of its tools are resolved, metaPermissions the hash of the operator's permissions
// at its start, metaRules the permissions themselves as JSON. MetaAllowUnknown is set if the
// permissions of the document may name tools that do not exist.
const (
	MetaTrusted      = "trusted"
	metaDir          = "dir"
	MetaPermissions  = "permissions"
	MetaRules        = "rules"
	MetaAllowUnknown = "allowUnknown"
	// MetaUnattended is set if nobody waits for the run.
	MetaUnattended = "unattended"
)

// MetaOrigin holds the origin of a run's workflow, a JSON list that determines whose memories its
// agents use.
const MetaOrigin = "origin"

// originOf returns the origin of a run, or nil if it has none.
func originOf(info driver.Info) []string {
	var origin []string
	if json.Unmarshal([]byte(info.Meta[MetaOrigin]), &origin) != nil {
		return nil
	}
	return origin
}
