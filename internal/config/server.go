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
	// Metrics is MetricsToken ("" too) or MetricsPublic.
	Metrics  string         `json:"metrics"`
	TLS      ServerTLS      `json:"tls"`
	Limits   ServerLimits   `json:"limits"`
	Shutdown ServerShutdown `json:"shutdown"`
	MCP      ServerMCP      `json:"mcp"`
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
	// Body is in bytes.
	Body int64 `json:"body"`
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
		{name: "addr", kind: text, doc: "The address to listen at, as host:port; --addr comes first. Without it, 127.0.0.1:7788."},
		{name: "url", kind: address, doc: "The address under which others reach the server, behind a proxy; --url comes first. Its host is a known one, and links that are sent begin with it."},
		{name: "hosts", kind: texts, doc: "Names by which the server may be called, also *.NAME, beside localhost, the addresses of this machine and the host of url: a request with another Host is refused."},
		{name: "origins", kind: texts, doc: "Origins of web pages that may call the server, such as https://app.example.com: a request with another Origin is refused."},
		{name: "metrics", kind: word, values: []string{MetricsToken, MetricsPublic}, doc: "Whether /metrics needs a token of the role run, or is for whoever reaches the server. Without it, token."},
		{name: "tls", kind: section, doc: "The certificate with which the server speaks HTTPS. Without it, it speaks HTTP, and a proxy before it may speak HTTPS.", keys: []key{
			{name: "cert", kind: path, doc: "The file of the certificate and those above it, PEM; it is read anew when it changes."},
			{name: "key", kind: path, doc: "The file of its private key, PEM."},
		}},
		{name: "limits", kind: section, doc: "Bounds of requests.", keys: []key{
			{name: "body", kind: count, min: 1024, max: 1 << 30, doc: "The most bytes of a request's body. Without it, 9437184: the largest document, and what stands around it."},
		}},
		{name: "mcp", kind: section, doc: "What assistants are offered at /mcp, beside the tools that work on workflows, agents and runs.", keys: []key{
			{name: "workflows", kind: texts, doc: "Ids of published workflows that are tools of their own; [all] is every one."},
		}},
		{name: "shutdown", kind: section, doc: "How the server ends.", keys: []key{
			{name: "delay", kind: duration, doc: "How long /readyz says no while requests are still taken, so that load balancers notice. Without it, no time."},
			{name: "grace", kind: duration, doc: "How long requests under way are waited for. Without it, 10s."},
		}},
	}
}
