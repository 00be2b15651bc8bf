package service

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/diag"
)

// words are the places where a text names flags and verbs of the command line, and what whoever asks over a protocol does instead. ID and N stand for any
// text without blanks. A test finds texts of this package and of formats that are missing here.
var words = [][2]string{
	{"--id names one document", "an id names one document"},
	{"and --id says", "and the request says"},
	{"say one with --id", "say one in the field id"},
	{"say with --branch which one", "say in the field branch which one"},
	{"publish it with `hocket workflows publish ID`, or use --draft", "publish it with `POST /api/v1/workflows/ID/publish`, or ask for its draft in the field draft"},
	{"`hocket workflows publish ID --version N` writes them again", "`POST /api/v1/workflows/ID/publish` with the version N writes them again"},
	{"in the file of --agents, or in the catalog (hocket agents apply)", "in the catalog (`PUT /api/v1/agents/{id}`), or among the agents that are applied with it"},
	{"; give it with --agents", "; agents go beside the documents that are applied"},
	{"or in a file given with --agents", "or in the catalog of the server"},
	{"name it in a file of prices (--prices FILE, see docs/budgets.md)", "name it in the prices of the server's hocket.yaml"},
	{"with a base_url, or run with --model", "with a base_url, or have the server started with --model"},
	{"name the step from which it runs again, with --from STEP", "name the step from which it runs again, in the field from"},
	{"give the limit (--max-steps, --timeout, --budget, --max-iterations), or the step from which it runs again (--from STEP)", "give the limit in the field limits, or the step from which it runs again in the field from"},
	{"give a tools file that has it with --tools, or leave it out", "have it in the toolsets of the server's hocket.yaml, or leave it out"},
	{"give --model or set HOCKET_MODEL", "name a model for the agent"},
	{"--model and HOCKET_MODEL win over it", "the server's default model wins over it"},
	{"which runs with --trust", "which runs on the command line with --trust"},
}

// form finds some words of one side; as are those of the other.
type form struct {
	found *regexp.Regexp
	as    string
}

// compiled has the forms of both directions: to the API's words, and back.
var compiled = sync.OnceValue(func() (both [2][]form) {
	for i := range both {
		for _, w := range words {
			find := regexp.QuoteMeta(w[i])
			find = strings.NewReplacer("ID", "(?P<ID>[^\\s`]+)", " N", " (?P<N>[^\\s`]+)").Replace(find)
			as := strings.NewReplacer("$", "$$", "/ID/", "/${ID}/", " ID", " ${ID}", " N ", " ${N} ", " N`", " ${N}`").Replace(w[1-i])
			both[i] = append(both[i], form{regexp.MustCompile(find), as})
		}
	}
	return both
})

// APIWords gives a text whose advice is for whoever asks over a protocol: fields and routes in the place of flags and verbs.
func APIWords(text string) string { return turned(text, 0) }

// CommandWords gives a text of APIWords with the words of the command line again.
func CommandWords(text string) string { return turned(text, 1) }

func turned(text string, from int) string {
	for _, f := range compiled()[from] {
		text = f.found.ReplaceAllString(text, f.as)
	}
	return text
}

// APIDiagnostics gives diagnostics with texts of APIWords. The list given stays as it is.
func APIDiagnostics(list diag.List) diag.List { return worded(list, APIWords) }

// CommandDiagnostics gives diagnostics with texts of CommandWords. The list given stays as it is.
func CommandDiagnostics(list diag.List) diag.List { return worded(list, CommandWords) }

func worded(list diag.List, word func(string) string) diag.List {
	list = slices.Clone(list)
	for i := range list {
		list[i].Message, list[i].Hint = word(list[i].Message), word(list[i].Hint)
	}
	return list
}
