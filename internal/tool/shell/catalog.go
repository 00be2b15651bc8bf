package shell

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/tool"
)

const (
	cmdProperty     = `"cmd":{"type":"string","minLength":1,"description":"The command line"}`
	cwdProperty     = `"cwd":{"type":"string","description":"Folder to run in; default ."}`
	timeoutProperty = `"timeout":{"type":"number","exclusiveMinimum":0,"maximum":86400,"description":"Timeout in ` +
		`seconds; default 30"}`
	jobProperty = `"job_id":{"type":"string","description":"Id of the job"}`
)

// object returns the schema of an object with the given properties and required properties.
func object(properties, required string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required +
		`],"additionalProperties":false}`)
}

// catalog holds the tools in the order in which they are offered. If the spec lists commands, only
// exec is offered.
var catalog = []entry{
	{
		def: chat.ToolDef{Name: "shell", Description: "Runs a command line in the system's shell and returns " +
			"its output", Parameters: object(cmdProperty+","+cwdProperty+","+timeoutProperty, `"cmd"`)},
		policy: tool.PolicyAsk, run: run,
	},
	{
		def: chat.ToolDef{
			Name: "exec", Description: "Runs a program with arguments, without a shell, and returns its output",
			Parameters: object(`"argv":{"type":"array","items":{"type":"string"},"minItems":1,"description":"The `+
				`program and its arguments"},`+cwdProperty+
				`,"stdin":{"type":"string","description":"Text for its standard input"},`+timeoutProperty, `"argv"`),
		},
		policy: tool.PolicyAsk, run: run,
	},
	{
		def: chat.ToolDef{Name: "run_background_job",
			Description: "Starts a command line in the background and returns the id of the job",
			Parameters:  object(cmdProperty+","+cwdProperty, `"cmd"`)},
		policy: tool.PolicyAsk, run: startJob,
	},
	{
		def: chat.ToolDef{Name: "list_background_jobs", Description: "Lists the jobs and their status",
			Parameters: object("", "")},
		policy: tool.PolicyRetry, run: listJobs,
	},
	{
		def: chat.ToolDef{Name: "view_background_job", Description: "Returns the output of a job so far",
			Parameters: object(jobProperty, `"job_id"`)},
		policy: tool.PolicyRetry, run: viewJob,
	},
	{
		def: chat.ToolDef{Name: "stop_background_job", Description: "Stops a job and all processes that it started",
			Parameters: object(jobProperty, `"job_id"`)},
		policy: tool.PolicyRetry, run: stopJob,
	},
}
