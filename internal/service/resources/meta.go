package resources

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/driver"
)

// Names of the files that are kept with a run (D19).
const (
	FileTools   = "tools"
	FileReplies = "replies"
)

// MetaTrusted holds the hash of what was allowed for a run (SEC5), metaDir the folder against which relative paths of its tools are resolved, metaPermissions the hash of
// the operator's permissions when it began, metaRules the permissions themselves as JSON.
const (
	MetaTrusted     = "trusted"
	metaDir         = "dir"
	MetaPermissions = "permissions"
	MetaRules       = "rules"
)

// MetaOrigin holds the origin of a run's workflow, a JSON list: whose the memories of its agents are.
const MetaOrigin = "origin"

// originOf gives the origin of a run; nil: it has none.
func originOf(info driver.Info) []string {
	var origin []string
	if json.Unmarshal([]byte(info.Meta[MetaOrigin]), &origin) != nil {
		return nil
	}
	return origin
}
