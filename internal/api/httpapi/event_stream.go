package httpapi

import (
	"context"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/live"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// registerLive registers the operations that follow runs live. The event stream itself shares the
// path of listEvents and is selected by the Accept header.
func (a *API) registerLive() {
	add(a, route{
		Method: http.MethodPost, Path: "/runs/{id}/events/ticket", ID: "createEventTicket", Tag: tagRuns,
		Role: access.RoleRun, Status: http.StatusCreated,
		Errors:  []int{http.StatusNotFound, http.StatusTooManyRequests},
		Summary: "Create a ticket for the event stream of a run",
		Description: "For the EventSource of browsers, which cannot send a token: the ticket opens the stream of " +
			"this run as the query parameter `ticket`. It must be used first " +
			"within a minute, and is valid as long as the stream, so that a client can reconnect; a new connection " +
			"with the ticket replaces the one before.",
	}, func(ctx context.Context, c *transport.Caller, in *RunPath) (*ticketAnswer, error) {
		t, err := a.cfg.Live.IssueTicket(ctx, c, in.ID)
		if err != nil {
			return nil, err
		}
		return &ticketAnswer{EventTicket(t)}, nil
	})
	add(a, route{
		Method: http.MethodGet, Path: "/events", ID: "listFeed", Tag: tagRuns, Role: access.RoleRun,
		Summary: "List what happened to all runs lately",
		Description: "Waits that were opened, answered or closed, and runs that ended, of the caller's namespace, " +
			"oldest first, from all processes on the store: those behind the number `after`, and without it " +
			"the newest ones.\n\nWith `Accept: text/event-stream` the response is a stream of them, which begins " +
			"with what happens from now on, or behind `Last-Event-ID` or `after`. Its first message is " +
			"`feed.ready`: what is listed then has all that happened before. A client that was away for long gets it " +
			"again, and reads its lists anew. `run.started` tells of new runs, `workflow.changed` and " +
			"`workflow.deleted` of workflows, drafts to those who see them; they have no id.",
	}, listFeed)
	a.streams = http.NewServeMux()
	a.streams.Handle("GET "+Prefix+"/runs/{id}/events", a.cfg.Live)
	a.streams.Handle("GET "+Prefix+"/events", http.HandlerFunc(a.cfg.Live.Feed))
	a.huma.OpenAPI().Paths[Prefix+"/events"].Get.Responses["200"].Content[eventStream] = &huma.MediaType{
		Schema: &huma.Schema{Type: huma.TypeString,
			Description: "Server-sent events; their data is a FeedMessage without id"},
	}
	op := a.huma.OpenAPI().Paths[Prefix+"/runs/{id}/events"].Get
	op.Description += "\n\nWith `Accept: text/event-stream` the response is a stream: the recorded events, then new " +
		"ones until the run has ended. " +
		"The id of a message is the number of its event; a client that reconnects sends the last one in " +
		"`Last-Event-ID`. " +
		"A stream has other query parameters: `after`, `types`, `expand`, `mode`, `view`, `ticket`."
	op.Responses["200"].Content[eventStream] = &huma.MediaType{
		Schema: &huma.Schema{Type: huma.TypeString, Description: "Server-sent events"},
	}
	op.Responses["200"].Headers = map[string]*huma.Param{live.LastEvent: {
		Schema: &huma.Schema{Type: huma.TypeInteger, Description: "Event stream: number of the last event that was " +
			"recorded when the stream began. With it the client has all that there was"},
	}}
	op.Responses["204"] = &huma.Response{
		Description: "Event stream: the run has ended, and the client has received all of its events",
	}
}

// FeedMessage is a change of a run or a workflow.
type FeedMessage struct {
	ID uint64 `json:"id" doc:"Number of the message; greater than that of all before"`
	live.Told
}

// FeedPage is a page of the feed.
type FeedPage struct {
	Items []FeedMessage `json:"items"`
	Last  uint64        `json:"last" doc:"Number behind which to go on"`
}

type feedInput struct {
	After int64 `query:"after" minimum:"0" doc:"Number of the last message that is known"`
	Limit int64 `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many messages at most"`
}

func listFeed(ctx context.Context, c *transport.Caller, in *feedInput) (*struct{ Body FeedPage }, error) {
	after := uint64(in.After)
	if after == 0 {
		last, err := c.Service.LastNotice(ctx)
		if err != nil {
			return nil, err
		}
		after = last - min(last, uint64(in.Limit))
	}
	notices, err := c.Service.Notices(ctx, after, int(in.Limit))
	if err != nil {
		return nil, err
	}
	page := FeedPage{Items: []FeedMessage{}, Last: after}
	for _, n := range notices {
		page.Items = append(page.Items, FeedMessage{n.ID, live.Told{Type: n.Type, Run: n.Run, Seq: n.Seq, At: n.At}})
		page.Last = n.ID
	}
	return &struct{ Body FeedPage }{page}, nil
}

// EventTicket is a ticket that authorizes a browser's EventSource.
type EventTicket struct {
	Ticket  string    `json:"ticket" doc:"Value of the query parameter ticket; it opens this path only"`
	Path    string    `json:"path" doc:"The event stream of the run"`
	Expires time.Time `json:"expires" doc:"Time by which it must be used first"`
}

// ticketAnswer is the response with a ticket.
type ticketAnswer struct{ Body EventTicket }

// stream serves a request for an event stream, and reports whether the request was one.
func (a *API) stream(w http.ResponseWriter, r *http.Request) bool {
	if !accepts(r.Header.Values("Accept"), eventStream) {
		return false
	}
	if _, pattern := a.streams.Handler(r); pattern == "" {
		return false
	}
	a.streams.ServeHTTP(w, r)
	return true
}

// accepts reports whether a media type is listed with a weight other than zero.
func accepts(header []string, want string) bool {
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			t, params, err := mime.ParseMediaType(part)
			if err == nil && t == want && !isZero(params["q"]) {
				return true
			}
		}
	}
	return false
}

// isZero reports whether a weight is 0, 0.0 and so on.
func isZero(q string) bool { return q != "" && strings.Trim(q, "0.") == "" }
