package config

// Server is how `hocket serve` serves. Flags come first.
type Server struct {
	// Addr is host:port.
	Addr string `json:"addr"`
	// URL is the address under which others reach the server.
	URL string `json:"url"`
	// Hosts and Origins are those that may call beside the server's own (SEC9).
	Hosts   []string `json:"hosts"`
	Origins []string `json:"origins"`
	// TrustedProxies are addresses and networks of proxies that say who their client is.
	TrustedProxies []string `json:"trustedProxies"`
	// Metrics is MetricsToken ("" too) or MetricsPublic.
	Metrics  string         `json:"metrics"`
	TLS      ServerTLS      `json:"tls"`
	Limits   ServerLimits   `json:"limits"`
	Shutdown ServerShutdown `json:"shutdown"`
	MCP      ServerMCP      `json:"mcp"`
	// TakeOverAfter is for how long another process gives no sign of life before its runs and schedules are taken over; 0: Hocket's own.
	TakeOverAfter Duration `json:"takeOverAfter"`
	// Reminders are of waits whose node names none.
	Reminders Reminders `json:"reminders"`
	// Notifications are those who are told what happens to runs of the namespace default, by name.
	Notifications map[string]ServerNotification `json:"notifications"`
}

// Reminders say when people are told again of a wait that nobody has answered.
type Reminders struct {
	// After is counted from when the wait was opened; 0: never.
	After Duration `json:"after"`
}

// Retention says how long runs are kept (D26).
type Retention struct {
	// Ended is how long runs are kept after their end; 0: Hocket's own. Paused is how long runs that wait are kept after their last event; 0: for ever.
	Ended  Duration `json:"ended"`
	Paused Duration `json:"paused"`
}

// ServerNotification is a URL that is told what happens to runs.
type ServerNotification struct {
	URL string `json:"url"`
	// Secret is a reference.
	Secret string `json:"secret"`
	// On holds types of notifications, Workflows ids or names; empty is all.
	On        []string `json:"on"`
	Workflows []string `json:"workflows"`
	// Children tells of runs that other runs started, ApproveLinks puts links into what tells of waits.
	Children     bool `json:"children"`
	ApproveLinks bool `json:"approveLinks"`
}

// Who may read the metrics of a server.
const (
	MetricsToken  = "token"
	MetricsPublic = "public"
)

// ServerTLS are the files of a certificate, both or none.
type ServerTLS struct {
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// ServerLimits bound what requests may take (SEC17). Zero values are Hocket's own.
type ServerLimits struct {
	// Body and Input are in bytes.
	Body  int64 `json:"body"`
	Input int64 `json:"input"`
	// Runs is how many runs of a store may not have ended.
	Runs int64 `json:"runs"`
	// Failures is how many wrong tokens an address may show in a minute.
	Failures int `json:"failures"`
	// Requests and Connections are how many there are at once.
	Requests    int `json:"requests"`
	Connections int `json:"connections"`
	// Streams are event streams of runs that are open, NamespaceStreams those of one namespace.
	Streams          int `json:"streams"`
	NamespaceStreams int `json:"namespaceStreams"`
	// InFlight bounds the bytes of requests and answers in memory, TokenInFlight those of one token.
	InFlight      int64 `json:"inFlight"`
	TokenInFlight int64 `json:"tokenInFlight"`
	// BodyIdle is how long a body may bring next to nothing before it is cut off.
	BodyIdle Duration `json:"bodyIdle"`
	// RunBytes bounds what one run takes in and makes.
	RunBytes int64 `json:"runBytes"`
}

// ServerShutdown says how a server ends. Zero values are Hocket's own.
type ServerShutdown struct {
	Delay Duration `json:"delay"`
	Grace Duration `json:"grace"`
}

// ServerMCP says what the MCP server offers beside its own tools.
type ServerMCP struct {
	// Workflows are the ids of published workflows that are tools of their own; `all` alone is every one.
	Workflows []string `json:"workflows"`
}

func serverKeys() []key {
	return []key{
		{name: "takeOverAfter", kind: duration, min: 15, doc: "For how long another server on the same store, or a scheduler, gives no sign of life before this one takes over its runs and its schedules though its process is still there. At least 15s; 3650d is practically never. Without it, 30s."},
		{name: "addr", kind: text, doc: "The address to listen at, as host:port; --addr comes first. Without it, 127.0.0.1:7788."},
		{name: "url", kind: address, doc: "The address under which others reach the server, behind a proxy; --url comes first. Its host is a known one, and links that are sent begin with it."},
		{name: "hosts", kind: texts, doc: "Names by which the server may be called, also *.NAME, beside localhost, the addresses of this machine and the host of url: a request with another Host is refused."},
		{name: "origins", kind: texts, doc: "Origins of web pages that may call the server, such as https://app.example.com: a request with another Origin is refused."},
		{name: "trustedProxies", kind: texts, doc: "Addresses and networks of proxies before the server, such as 10.0.0.7 or 10.0.0.0/8: of their requests, the client's address is the right-most one of X-Forwarded-For or Forwarded that is no trusted proxy. Others are not believed. Without it, the address of a request is that of its connection."},
		{name: "metrics", kind: word, values: []string{MetricsToken, MetricsPublic}, doc: "Whether /metrics needs a token of the role run, or is for whoever reaches the server. Without it, token."},
		{name: "tls", kind: section, doc: "The certificate with which the server speaks HTTPS. Without it, it speaks HTTP, and a proxy before it may speak HTTPS.", keys: []key{
			{name: "cert", kind: path, doc: "The file of the certificate and those above it, PEM; it is read anew when it changes."},
			{name: "key", kind: path, doc: "The file of its private key, PEM."},
		}},
		{name: "limits", kind: section, doc: "Bounds of requests.", keys: []key{
			{name: "body", kind: count, min: 1024, max: 1 << 30, doc: "The most bytes of a request's body. Without it, 9437184: the largest document, and what stands around it."},
			{name: "input", kind: count, min: 1, max: 1 << 30, doc: "The most bytes of a run's input. Without it, 1048576."},
			{name: "runs", kind: count, min: 1, max: 10_000_000, doc: "The most runs of one namespace that have not ended, paused ones too: more are not started. Without it, 10000."},
			{name: "failures", kind: count, min: 1, max: 1_000_000, doc: "The most wrong tokens and tickets that one address may show in a minute; more of them are answered 429. Right ones are let in all the same. Without it, 300."},
			{name: "requests", kind: count, min: 1, max: 1_000_000, doc: "The most requests at once, but for event streams and probes. Without it, 4096."},
			{name: "connections", kind: count, min: 1, max: 1_000_000, doc: "The most open connections; others wait to be accepted. Without it, 16384."},
			{name: "streams", kind: count, min: 1, max: 1_000_000, doc: "The most open event streams of runs. Without it, 4096."},
			{name: "namespaceStreams", kind: count, min: 1, max: 1_000_000, doc: "The most open event streams of runs of one namespace. Without it, half of streams."},
			{name: "inFlight", kind: count, min: 1 << 20, max: 1 << 40, doc: "The most bytes that requests and answers hold in memory at one time, all together. A byte of a body counts as two: as it came, and as what is read of it. Beyond that requests are answered 503. Without it, a quarter of the process's memory limit, which is GOMEMLIMIT, or four fifths of the machine's memory."},
			{name: "tokenInFlight", kind: count, min: 1 << 20, max: 1 << 40, doc: "The most bytes of these that the requests of one token, of one webhook, and of all callers without a token hold. Beyond that requests are answered 429. Without it, a quarter of inFlight, and room for one body at least."},
			{name: "bodyIdle", kind: duration, doc: "A body of which less than 16384 bytes come within this time is cut off, with 408. Without it, 10s."},
			{name: "runBytes", kind: count, min: 1 << 16, max: 1 << 36, doc: "The most bytes that one run takes in and makes: inputs, prompts, replies, arguments, results, outputs, and 256 for each event. A run beyond it fails with max_bytes, and does not go on. Without it, 268435456."},
		}},
		{name: "reminders", kind: section, doc: "Reminders of waits for a person.", keys: []key{
			{name: "after", kind: duration, doc: "How long a wait whose node names no time of its own is open before a reminder goes out, once. Without it, none does."},
		}},
		{name: "mcp", kind: section, doc: "What assistants are offered at /mcp, beside the tools that work on workflows, agents and runs.", keys: []key{
			{name: "workflows", kind: texts, doc: "Ids of published workflows that are tools of their own; [all] is every one."},
		}},
		{name: "notifications", kind: named, doc: "Addresses that are told what happens to runs of the namespace default, by names of their own; see docs/webhooks.md.", keys: []key{
			{name: "url", kind: address, required: true, doc: "Where messages are posted; it may be a private address."},
			{name: "secret", kind: secretID, required: true, doc: "A reference to the secret that signs them, as Standard Webhooks says: whsec_ and base64, or any text of 16 bytes or more."},
			{name: "on", kind: texts, doc: "What is told: wait.opened, wait.reminded, wait.answered, wait.closed, run.completed, run.failed, run.cancelled. Without it, all."},
			{name: "workflows", kind: texts, doc: "Of which workflows, by id or name. Without it, of all."},
			{name: "children", kind: flag, doc: "Whether runs that other runs started are told of too. Without it, they are not."},
			{name: "approveLinks", kind: flag, doc: "Whether messages of waits hold a link by which whoever has it answers; it needs url of server. Without it, they do not."},
		}},
		{name: "shutdown", kind: section, doc: "How the server ends.", keys: []key{
			{name: "delay", kind: duration, doc: "How long /readyz says no while requests are still taken, so that load balancers notice. Without it, no time."},
			{name: "grace", kind: duration, doc: "How long requests under way are waited for. Without it, 10s."},
		}},
	}
}
