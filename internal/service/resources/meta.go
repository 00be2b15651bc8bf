package resources

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/driver"
)

// Names of the files that are stored with a run (D19).
const (
	FileTools   = "tools"
	FileReplies = "replies"
)

// MetaTrusted holds the hash of what was allowed for a run (SEC5), metaDir the folder against which
// relative paths of its tools are resolved, metaPermissions the hash of the operator's permissions
// at its start, metaRules the permissions themselves as JSON.
const (
	MetaTrusted     = "trusted"
	metaDir         = "dir"
	MetaPermissions = "permissions"
	MetaRules       = "rules"
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
