package config

import (
	"net"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/secret"
)

// Temporal is the Temporal server that executes the runs that a process starts. Flags take
// precedence. The zero value names no server.
type Temporal struct {
	// Address is host:port; "" means that there is no server.
	Address string `json:"address"`
	// Namespace is the Temporal namespace; "" means default.
	Namespace string      `json:"namespace"`
	TLS       TemporalTLS `json:"tls"`
	// APIKey is a secret reference.
	APIKey string `json:"apiKey"`
}

// TemporalTLS names files in PEM form. Any of them, or an API key, makes the connection use TLS.
type TemporalTLS struct {
	// Cert and Key are the client certificate of this process and its key, both or neither.
	Cert string `json:"cert"`
	Key  string `json:"key"`
	// CA is the authority of the server's certificate; "" means the machine's authorities.
	CA string `json:"ca"`
	// ServerName is the name in the server's certificate; "" means the host of the address.
	ServerName string `json:"serverName"`
}

// IsTLS reports whether connections use TLS: if a TLS setting says so, and whenever an API key is
// sent.
func (t Temporal) IsTLS() bool { return t.TLS != TemporalTLS{} || t.APIKey != "" }

// Problem returns in one clause why the settings cannot be used together, or "" if they can. It
// reads no file and shows no secret.
func (t Temporal) Problem() string {
	switch {
	case t.Address == "" && t != Temporal{}:
		return "there are settings of Temporal, and the address of its server is missing"
	case t.Address == "":
		return ""
	case (t.TLS.Cert == "") != (t.TLS.Key == ""):
		return "the certificate of the client and its key must be given together"
	case t.APIKey != "" && secret.Check(t.APIKey) != nil:
		return "the API key must be a reference to a secret, not the secret itself; write ${env.NAME} or file:PATH"
	}
	host, port, err := net.SplitHostPort(t.Address)
	if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || n == 0 || host == "" ||
		strings.ContainsAny(host, "/@ ") {
		return "the address of the Temporal server must be HOST:PORT, such as temporal.example.com:7233"
	}
	return ""
}

func temporalKeys() []key {
	return []key{
		{name: "address", kind: text,
			doc: "The address of the server's frontend as host:port; --temporal takes precedence. Runs that are " +
				"started by this process are then carried by Temporal. Requires a store in PostgreSQL."},
		{name: "namespace", kind: text, doc: "The namespace of Temporal, which must exist; --temporal-namespace " +
			"takes precedence. Default: default."},
		{name: "tls", kind: section, doc: "TLS of the connection. It is used if one of these keys or apiKey is set.",
			keys: []key{
				{name: "cert", kind: path, doc: "The PEM file of the client's certificate; it is read again for each " +
					"connection. --temporal-tls-cert takes precedence."},
				{name: "key", kind: path, doc: "The PEM file of its private key. --temporal-tls-key takes precedence."},
				{name: "ca", kind: path, doc: "The PEM file of the authority of the server's certificate. " +
					"--temporal-tls-ca takes precedence. Without it, the authorities of this machine are trusted."},
				{name: "serverName", kind: text,
					doc: "The name in the server's certificate. --temporal-tls-server-name " +
						"takes precedence. Without it, the host of address."},
			}},
		{name: "apiKey", kind: secretID, doc: "A reference to the API key, which is sent over TLS only; " +
			"--temporal-api-key takes precedence. It is resolved again every minute."},
	}
}

// checkTemporal reports Temporal settings that cannot be used together. The address may be missing,
// since a flag may supply it.
func (r *reader) checkTemporal(root *source.Node) {
	t := r.config.Temporal
	if t.Address == "" {
		t.Address = "localhost:7233"
	}
	if problem := t.Problem(); problem != "" {
		r.errorf(root.Get("temporal"), CodeBadValue, "%s", problem)
	}
}
