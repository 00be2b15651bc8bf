package event

import "slices"

// Actor identifies who answered, and through which channel. The engine records it and bases no
// decision on it. The zero Actor is unknown.
type Actor struct {
	// Name is the name of the access token that was presented, LocalActor for a person at the
	// machine of the store, or the name of the endpoint to which an approve link was sent.
	Name string `json:"name,omitempty"`
	// Token is the id of the access token, which is not secret; it is empty without a token.
	Token string `json:"token,omitempty"`
	// Channel is the channel through which the answer arrived.
	Channel Channel `json:"channel"`
	// Role is the role of the token; it is empty without a token.
	Role string `json:"role,omitempty"`
}

// rolesAscending are the roles of tokens in ascending order; each has the permissions of those
// before it.
var rolesAscending = []string{"run", "edit", "admin"}

// HasRole reports whether the actor has one of roles: through the role of the token, its
// name, or the name of the endpoint to which the link was sent. The user of the store on this
// machine and the program that embeds Hocket are its operators, and have all roles; no flag and no
// clock has any.
func (a Actor) HasRole(roles []string) bool {
	if a.Token == "" && (a.Channel == ChannelCLI || a.Channel == ChannelProgram) {
		return true
	}
	for _, r := range roles {
		need := slices.Index(rolesAscending, r)
		switch {
		case need >= 0:
			if a.Token != "" && slices.Index(rolesAscending, a.Role) >= need {
				return true
			}
		case a.Name == r && (a.Token != "" || a.Channel == ChannelLink):
			return true
		}
	}
	return false
}

// LocalActor is the name of a caller who needs no token: a user of the store on this machine.
const LocalActor = "local"

// Channel is an interface through which answers arrive.
type Channel string

// The channels through which answers arrive.
const (
	ChannelCLI     Channel = "cli"     // the command line, on the store of this machine
	ChannelHTTP    Channel = "http"    // the HTTP API
	ChannelMCP     Channel = "mcp"     // the MCP server, over HTTP or standard input
	ChannelOpenAI  Channel = "openai"  // the OpenAI-compatible endpoint
	ChannelLink    Channel = "link"    // the page of an approve link
	ChannelWebhook Channel = "webhook" // a delivery to an incoming webhook
	ChannelProgram Channel = "program" // a Go program that embeds Hocket
	// ChannelApproveAll is the flag --approve-all: no person saw what was approved.
	ChannelApproveAll Channel = "approve-all"
	// ChannelClock means that the wait was closed at its deadline.
	ChannelClock Channel = "clock"
)

// LocalBy returns the actor for a caller who needs no token.
func LocalBy(c Channel) Actor { return Actor{Name: LocalActor, Channel: c} }

// IsKnown reports whether the actor has a channel.
func (a Actor) IsKnown() bool { return a.Channel != "" }

// String describes the actor for people: `alice (http)`, or the channel alone.
func (a Actor) String() string {
	switch {
	case !a.IsKnown():
		return "unknown"
	case a.Name == "":
		return string(a.Channel)
	}
	return a.Name + " (" + string(a.Channel) + ")"
}

// Clean returns the actor with its strings as valid UTF-8, as events store them.
func (a Actor) Clean() Actor {
	return Actor{Name: Clean(a.Name), Token: Clean(a.Token), Channel: Channel(Clean(string(a.Channel))),
		Role: Clean(a.Role)}
}
