package config

// Server configures `hocket serve`. Flags take precedence.
type Server struct {
	// Addr is host:port.
	Addr string `json:"addr"`
	// URL is the URL under which others reach the server.
	URL string `json:"url"`
	// Hosts and Origins are accepted in addition to the server's own (SEC9).
	Hosts   []string `json:"hosts"`
	Origins []string `json:"origins"`
	// TrustedProxies are addresses and networks of proxies that report their client's address.
	TrustedProxies []string `json:"trustedProxies"`
	// Page enables the page for browsers; nil means true.
	Page *bool `json:"page"`
	// Metrics is MetricsToken or MetricsPublic; "" means MetricsToken.
	Metrics  string         `json:"metrics"`
	TLS      ServerTLS      `json:"tls"`
	Limits   ServerLimits   `json:"limits"`
	Shutdown ServerShutdown `json:"shutdown"`
	MCP      ServerMCP      `json:"mcp"`
	// TakeOverAfter is how long another process must have sent no heartbeat before its runs and
	// schedules are taken over; 0 means Hocket's default.
	TakeOverAfter Duration `json:"takeOverAfter"`
	// Place is the name of the machine whose files and programs runs use; "" means the host name.
	Place string `json:"place"`
	// Reminders are the reminders of waits whose node specifies none.
	Reminders Reminders `json:"reminders"`
	// Notifications are the receivers of notifications about runs in the namespace default, by
	// name.
	Notifications map[string]ServerNotification `json:"notifications"`
}

// Reminders specify when people are notified again of an open wait.
type Reminders struct {
	// After is the time since the wait was opened; 0 means never.
	After Duration `json:"after"`
}

// Retention specifies how long runs are kept (D26).
type Retention struct {
	// Ended is how long runs are kept after their end; 0 means Hocket's default. Paused is how long
	// waiting runs are kept after their last event; 0 means forever.
	Ended  Duration `json:"ended"`
	Paused Duration `json:"paused"`
}

// ServerNotification is a URL that receives notifications of runs.
type ServerNotification struct {
	URL string `json:"url"`
	// Secret is a secret reference.
	Secret string `json:"secret"`
	// On lists types of notifications, and Workflows ids or names; empty means all.
	On        []string `json:"on"`
	Workflows []string `json:"workflows"`
	// Children includes child runs. ApproveLinks adds links to notifications of waits.
	Children     bool `json:"children"`
	ApproveLinks bool `json:"approveLinks"`
}

// Values of Server.Metrics: who may read the metrics of a server.
const (
	MetricsToken  = "token"
	MetricsPublic = "public"
)

// ServerTLS names the files of a certificate and its key, both or neither.
type ServerTLS struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// ServerLimits are limits on requests (SEC17). Zero values mean Hocket's defaults.
type ServerLimits struct {
	// Body and Input are in bytes.
	Body  int64 `json:"body"`
	Input int64 `json:"input"`
	// Runs is the maximum number of unfinished runs in a store.
	Runs int64 `json:"runs"`
	// Failures is the maximum number of wrong tokens per address and minute.
	Failures int `json:"failures"`
	// Requests and Connections are the maximum numbers at a time.
	Requests    int `json:"requests"`
	Connections int `json:"connections"`
	// Streams is the maximum number of open event streams of runs, and NamespaceStreams that of one
	// namespace.
	Streams          int `json:"streams"`
	NamespaceStreams int `json:"namespaceStreams"`
	// InFlight is the maximum number of bytes of requests and responses in memory, and
	// TokenInFlight that of one token.
	InFlight      int64 `json:"inFlight"`
	TokenInFlight int64 `json:"tokenInFlight"`
	// BodyIdle is how long a request body may stall before it is cut off.
	BodyIdle Duration `json:"bodyIdle"`
	// RunBytes is the maximum number of bytes that one run receives and produces.
	RunBytes int64 `json:"runBytes"`
	// Driven is the maximum number of runs of a namespace that a process drives at a time.
	Driven int `json:"driven"`
}

// ServerShutdown configures how a server shuts down. Zero values mean Hocket's defaults.
type ServerShutdown struct {
	Delay Duration `json:"delay"`
	Grace Duration `json:"grace"`
	// Drain is how long calls of runs may continue.
	Drain Duration `json:"drain"`
}

// ServerMCP configures what the MCP server offers in addition to its own tools.
type ServerMCP struct {
	// Workflows are the ids of published workflows that have their own tools; `all` alone means
	// every workflow.
	Workflows []string `json:"workflows"`
}

func serverKeys() []key {
	return []key{
		{name: "takeOverAfter", kind: duration, min: 15,
			doc: "How long another server or scheduler on the same store must be silent before this one takes over " +
				"its runs and schedules, even if its process still exists. At least 15s; 3650d means practically " +
				"never. Default: 30s."},
		{name: "place", kind: text, doc: "The name of this machine for runs that need its files or programs: only " +
			"servers and workers with the same name continue them; --place takes precedence. Default: the host name."},
		{name: "addr", kind: text,
			doc: "The address to listen on, as host:port; --addr takes precedence. Without it, 127.0.0.1:7788."},
		{name: "url", kind: address, doc: "The public URL of the server, such as behind a proxy; --url takes " +
			"precedence. Its host is an allowed host, and links in messages begin with it."},
		{name: "hosts", kind: texts, doc: "Allowed host names, also *.NAME, in addition to localhost, the addresses " +
			"of this machine and the host of url. A request with another Host is refused."},
		{name: "origins", kind: texts, doc: "Origins of web pages that may call the server, such as " +
			"https://app.example.com. A request with another Origin is refused."},
		{name: "trustedProxies", kind: texts,
			doc: "Addresses and networks of trusted proxies, such as 10.0.0.7 or 10.0.0.0/8. For their requests, the " +
				"client address is the right-most one of X-Forwarded-For or Forwarded that is not a trusted proxy. " +
				"The headers of other senders are ignored. Without it, the client address is that of the connection."},
		{name: "page", kind: flag, doc: "Whether the server serves the web page (docs/page.md). The page needs the " +
			"HTTP API alone, and no token for its files. Default: true."},
		{name: "metrics", kind: word, values: []string{MetricsToken, MetricsPublic},
			doc: "Whether /metrics needs a token and shows its namespace, or shows all to everyone. Default: token."},
		{name: "tls", kind: section, doc: "The certificate for HTTPS. Without it, the server uses HTTP, and a proxy " +
			"in front of it may use HTTPS.", keys: []key{
			{name: "cert", kind: path, doc: "The PEM file of the certificate and its intermediate certificates; it " +
				"is reloaded when it changes."},
			{name: "key", kind: path, doc: "The PEM file of the private key."},
		}},
		{name: "limits", kind: section, doc: "Limits of requests.", keys: []key{
			{name: "body", kind: count, min: 1024, max: 1 << 30,
				doc: "The maximum size of a request body in bytes. Without it, 9437184: the largest document and the " +
					"fields around it."},
			{name: "input", kind: count, min: 1, max: 1 << 30,
				doc: "The maximum size of a run's input in bytes. Default: 1048576."},
			{name: "runs", kind: count, min: 1, max: 10_000_000,
				doc: "The maximum number of runs of one namespace that have not ended, including paused ones; " +
					"further runs are not started. Default: 10000."},
			{name: "failures", kind: count, min: 1, max: 1_000_000,
				doc: "The maximum number of failed authentications (tokens and tickets) of one address per minute; " +
					"further failures get 429. Valid ones are still accepted. Default: 300."},
			{name: "requests", kind: count, min: 1, max: 1_000_000,
				doc: "The maximum number of concurrent requests, without event streams and probes. Default: 4096."},
			{name: "connections", kind: count, min: 1, max: 1_000_000,
				doc: "The maximum number of open connections; others wait to be accepted. Default: 16384."},
			{name: "streams", kind: count, min: 1, max: 1_000_000,
				doc: "The maximum number of open event streams of runs. Default: 4096."},
			{name: "namespaceStreams", kind: count, min: 1, max: 1_000_000,
				doc: "The maximum number of open event streams of runs of one namespace. Without it, half of streams."},
			{name: "inFlight", kind: count, min: 1 << 20, max: 1 << 40,
				doc: "The maximum memory of all requests and responses together, in bytes. A byte of a body counts " +
					"twice: raw and decoded. Further requests get 503. Without it, a quarter of the process's memory " +
					"limit, which is GOMEMLIMIT, or four fifths of the machine's memory."},
			{name: "tokenInFlight", kind: count, min: 1 << 20, max: 1 << 40,
				doc: "The part of inFlight, in bytes, that one token, one webhook, or all callers without a token " +
					"together may use. Further requests get 429. Without it, a quarter of inFlight, but at least the " +
					"size of one body."},
			{name: "bodyIdle", kind: duration, doc: "A request is ended with 408 if less than 16384 bytes of its " +
				"body arrive within this time. Default: 10s."},
			{name: "runBytes", kind: count, min: 1 << 16, max: 1 << 36,
				doc: "The maximum amount of data of one run in bytes: inputs, prompts, replies, arguments, results, " +
					"outputs, and 256 for each event. A run that exceeds it fails with max_bytes. Default: 268435456."},
			{name: "driven", kind: count, min: 1, max: 1_000_000,
				doc: "The maximum number of runs of one namespace that this process drives at once, without paused " +
					"ones; --max-driven takes precedence. Further runs are stored, and continue in a server or " +
					"worker that has room. Default: 10000."},
		}},
		{name: "reminders", kind: section, doc: "Reminders of waits for a person.", keys: []key{
			{name: "after", kind: duration, doc: "How long a wait is open before one reminder is sent, unless its " +
				"node sets a time. Without it, no reminder is sent."},
		}},
		{name: "mcp", kind: section, doc: "What /mcp offers in addition to the tools for workflows, agents and runs.",
			keys: []key{
				{name: "workflows", kind: texts,
					doc: "Ids of published workflows that are offered as tools; [all] means every one."},
			}},
		{name: "notifications", kind: byName, doc: "Webhook endpoints for events of runs of the namespace default, " +
			"by name; see docs/webhooks.md.", keys: []key{
			{name: "url", kind: address, required: true,
				doc: "The URL to which messages are posted; a private address is allowed."},
			{name: "secret", kind: secretID, required: true,
				doc: "A reference to the signing secret, as in Standard Webhooks: whsec_ and base64, or any text of " +
					"16 bytes or more."},
			{name: "on", kind: texts, doc: "The events to send: wait.opened, wait.reminded, wait.answered, " +
				"wait.closed, run.completed, run.failed, run.cancelled, schedule.refused. Default: all."},
			{name: "workflows", kind: texts, doc: "The workflows whose events are sent, by id or name. Default: all."},
			{name: "children", kind: flag,
				doc: "Whether events of runs started by other runs are sent too. Without it, they are not."},
			{name: "approveLinks", kind: flag, doc: "Whether messages of waits contain a link with which anyone who " +
				"has it can answer; requires url of server. Without it, they do not."},
		}},
		{name: "shutdown", kind: section, doc: "Shutdown of the server.", keys: []key{
			{name: "delay", kind: duration, doc: "How long /readyz fails while requests are still accepted, so that " +
				"load balancers notice. Default: 0s."},
			{name: "grace", kind: duration, doc: "How long to wait for requests in flight. Default: 10s."},
			{name: "drain", kind: duration,
				doc: "How long calls of runs in progress may continue before they are stopped; --drain takes " +
					"precedence. Other processes continue the runs. Default: 0s, and 20s for hocket worker."},
		}},
	}
}
