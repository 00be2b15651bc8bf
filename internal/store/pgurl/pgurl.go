package pgurl

import (
	"cmp"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
)

// DefaultSchema is the schema of the default namespace if the URL names none.
const DefaultSchema = "hocket"

// MaxBytes is the maximum length of a URL.
const MaxBytes = 8 << 10

// URL is an address of a store in PostgreSQL. It is immutable and safe for concurrent use. No way
// of formatting it shows secrets.
type URL struct {
	settings  map[string]string // by libpq keyword
	schema    string
	leaseHost string
}

// options maps the options that a URL may set after its `?` to the checks of their values; nil
// accepts any text.
var options = map[string]func(string) string{
	"host": nil, "port": checkPorts, "user": nil, "password": nil, "dbname": nil, "passfile": nil,
	"sslmode": oneOf("disable", "allow", "prefer", "require", "verify-ca", "verify-full"), "sslrootcert": nil,
	"sslcert": nil, "sslkey": nil, "sslpassword": nil, "sslsni": oneOf("0", "1"),
	"channel_binding": oneOf("disable", "prefer", "require"), "connect_timeout": checkTimeout, "application_name": nil,
	"target_session_attrs": oneOf("any", "read-write", "primary"),
	"schema":               checkSchema, "lease_host": checkLeaseHost,
}

// secrets are the settings whose values are never shown.
var secrets = []string{"password", "sslpassword"}

// Is reports whether text is intended as a PostgreSQL URL.
func Is(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && (strings.EqualFold(scheme, "postgres") || strings.EqualFold(scheme, "postgresql"))
}

// Parse parses a URL. Omitted settings are left for the driver to fill in, as libpq does:
// PGPASSWORD, the password file, port 5432.
//
// The error is *errcode.Error with errcode.StoreURL; its text contains no part of the URL that
// could be a secret.
func Parse(text string) (*URL, error) {
	u := &URL{settings: map[string]string{}}
	if problem := u.parse(text); problem != "" {
		return nil, invalid(problem, "")
	}
	_, rest, _ := strings.Cut(text, "://")
	_, query, _ := strings.Cut(rest, "?")
	if err := u.options(query); err != nil {
		return nil, err
	}
	return u, nil
}

func invalid(problem, meant string) error {
	return errcode.New(errcode.StoreURL, errcode.Fields{"problem": problem, "meant": meant}, nil)
}

// parse parses the part before the options, and returns the problem, or "" if there is none.
func (u *URL) parse(text string) string {
	switch {
	case !Is(text):
		return "it does not begin with postgres://"
	case len(text) > MaxBytes:
		return "it has more than " + strconv.Itoa(MaxBytes) + " bytes"
	}
	_, rest, _ := strings.Cut(text, "://")
	if end := strings.IndexAny(rest, "/?"); end >= 0 && strings.Contains(rest[end:], "@") {
		// the rest may belong to a password
		return "there is an @ behind the host; write / and ? of a password as %2F and %3F, and other @ as %40"
	}
	rest, _, _ = strings.Cut(rest, "?")
	authority, database, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at >= 0 {
		user, password, hasPassword := strings.Cut(authority[:at], ":")
		if !u.decode("user", user) {
			return "the user name has an invalid percent sign or a zero byte"
		}
		if hasPassword && !u.decode("password", password) {
			return "the password has an invalid percent sign or a zero byte"
		}
	}
	if !u.decode("dbname", database) || strings.Contains(database, "/") {
		return "the name of the database has a slash, an invalid percent sign or a zero byte"
	}
	return u.hosts(authority[at+1:])
}

// decode sets a percent-encoded value of the URL; an empty one is not set.
func (u *URL) decode(key, text string) bool {
	value, err := url.PathUnescape(text)
	if err != nil || strings.Contains(value, "\x00") {
		return false
	}
	if value != "" {
		u.settings[key] = value
	}
	return true
}

// hosts parses hosts and ports.
func (u *URL) hosts(text string) string {
	if text == "" {
		return ""
	}
	var hosts, ports []string
	for part := range strings.SplitSeq(text, ",") {
		host, port, ok := splitHost(part)
		if !ok {
			return "the host or its port is not valid"
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	u.settings["host"] = strings.Join(hosts, ",")
	if slices.ContainsFunc(ports, func(p string) bool { return p != "" }) {
		for i := range ports {
			ports[i] = cmp.Or(ports[i], defaultPort)
		}
		u.settings["port"] = strings.Join(ports, ",")
	}
	return ""
}

const defaultPort = "5432"

// hostName matches a name, an address, or the folder of a Unix socket.
var hostName = regexp.MustCompile(`^[A-Za-z0-9._-]+$|^/[^\x00-\x1f,]*$`)

// splitHost parses `host`, `host:port`, `[::1]:port` or a percent-encoded folder.
func splitHost(text string) (host, port string, ok bool) {
	if rest, isIP := strings.CutPrefix(text, "["); isIP {
		host, port, ok = strings.Cut(rest, "]")
		if !ok || net.ParseIP(host) == nil {
			return "", "", false
		}
		if port != "" {
			port, ok = strings.CutPrefix(port, ":")
		}
		return host, port, ok && checkPort(port)
	}
	host, port, _ = strings.Cut(text, ":")
	host, err := url.PathUnescape(host)
	return host, port, err == nil && hostName.MatchString(host) && checkPort(port)
}

func checkPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// options parses the part after the `?`.
func (u *URL) options(query string) error {
	if query == "" {
		return nil
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		value, err2 := url.PathUnescape(rawValue) // as in libpq, a plus sign is literal
		check, known := options[name]
		switch {
		case err != nil || !utf8Text(name):
			return invalid("the name of an option has an invalid percent sign", "")
		case !known:
			return invalid("unknown option "+strconv.Quote(name),
				diag.DidYouMean(name, slices.Sorted(maps.Keys(options))))
		case err2 != nil || strings.Contains(value, "\x00"):
			return invalid("the option "+name+" has an invalid percent sign or a zero byte", "")
		case value == "":
			return invalid("the option "+name+" is empty", "")
		case seen[name] || u.settings[name] != "":
			return invalid("the option "+name+" is given twice", "")
		}
		seen[name] = true
		if check != nil {
			if problem := check(value); problem != "" {
				return invalid("the option "+name+" "+problem, "")
			}
		}
		switch name {
		case "schema":
			u.schema = value
		case "lease_host":
			u.leaseHost = value
		default:
			u.settings[name] = value
		}
	}
	return nil
}

func utf8Text(s string) bool { return len(s) <= 64 && strings.ToValidUTF8(s, "") == s }

func oneOf(values ...string) func(string) string {
	return func(v string) string {
		if slices.Contains(values, v) {
			return ""
		}
		return "must be one of " + strings.Join(values, ", ")
	}
}

func checkPorts(v string) string {
	for port := range strings.SplitSeq(v, ",") {
		if port == "" || !checkPort(port) {
			return "must be a number from 1 to 65535"
		}
	}
	return ""
}

func checkTimeout(v string) string {
	if n, err := strconv.Atoi(v); err != nil || n < 1 || n > 3600 {
		return "must be a number of seconds from 1 to 3600"
	}
	return ""
}

// schemaName leaves room for the suffix of other namespaces within the 63 bytes that PostgreSQL
// allows.
var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

func checkSchema(v string) string {
	switch {
	case !schemaName.MatchString(v):
		return "must be 1 to 48 lower-case letters, digits and _, and begin with a letter"
	case strings.HasPrefix(v, "pg_") || v == "information_schema":
		return "names a schema of PostgreSQL itself"
	}
	return ""
}

func checkLeaseHost(v string) string {
	if _, _, ok := splitHost(v); !ok || strings.Contains(v, ",") {
		return "must be a host, or host:port"
	}
	return ""
}

// Schema returns the schema of the default namespace.
func (u *URL) Schema() string { return cmp.Or(u.schema, DefaultSchema) }

// LeaseHost returns the address of the server itself, for connections that keep a session; "" if
// host is that address. port is "" if none was set.
func (u *URL) LeaseHost() (host, port string) {
	if u.leaseHost == "" {
		return "", ""
	}
	host, port, _ = splitHost(u.leaseHost)
	return host, port
}

// Setting returns a setting by its libpq keyword, or "" if the URL does not set it.
func (u *URL) Setting(key string) string { return u.settings[key] }

// Secrets returns the values that must not be shown.
func (u *URL) Secrets() []string {
	var out []string
	for _, key := range secrets {
		if v := u.settings[key]; v != "" {
			out = append(out, v)
		}
	}
	return out
}

// Conninfo returns all settings, including passwords, in libpq's keyword/value form, for the driver
// only. It must not be shown or logged.
func (u *URL) Conninfo() string { return u.conninfo(u.settings) }

// LeaseConninfo is like Conninfo, for connections that keep a session: they connect to LeaseHost if
// there is one.
func (u *URL) LeaseConninfo() string {
	host, port := u.LeaseHost()
	if host == "" {
		return u.Conninfo()
	}
	settings := maps.Clone(u.settings)
	settings["host"], settings["port"] = host, cmp.Or(port, defaultPort)
	return u.conninfo(settings)
}

var quoted = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

func (u *URL) conninfo(settings map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		b.WriteString(key + "='" + quoted.Replace(settings[key]) + "' ")
	}
	return strings.TrimSuffix(b.String(), " ")
}

// String returns the URL without its secrets. Parse accepts the result.
func (u *URL) String() string {
	var b strings.Builder
	b.WriteString("postgres://")
	if user := u.settings["user"]; user != "" {
		b.WriteString(escape(user) + "@")
	}
	inPath := u.writeHosts(&b)
	if name := u.settings["dbname"]; name != "" {
		b.WriteString("/" + escape(name))
	}
	sep := "?"
	write := func(key, value string) {
		b.WriteString(sep + key + "=" + strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
		sep = "&"
	}
	for _, key := range slices.Sorted(maps.Keys(u.settings)) {
		if !slices.Contains(secrets, key) && key != "user" && key != "dbname" &&
			(!inPath || key != "host" && key != "port") {
			write(key, u.settings[key])
		}
	}
	if u.schema != "" {
		write("schema", u.schema)
	}
	if u.leaseHost != "" {
		write("lease_host", u.leaseHost)
	}
	return b.String()
}

// escape percent-encodes a part of a URL so that it does not end the part.
func escape(text string) string { return strings.ReplaceAll(url.PathEscape(text), "@", "%40") }

// writeHosts writes hosts and ports before the path, if the URL form allows it there.
func (u *URL) writeHosts(b *strings.Builder) bool {
	hosts, ports := strings.Split(u.settings["host"], ","), strings.Split(u.settings["port"], ",")
	if u.settings["host"] == "" || u.settings["port"] != "" && len(ports) != len(hosts) ||
		slices.ContainsFunc(hosts, func(h string) bool {
			return !hostName.MatchString(h) && net.ParseIP(h) == nil || strings.HasPrefix(h, "/")
		}) {
		return false
	}
	for i, host := range hosts {
		if i > 0 {
			b.WriteByte(',')
		}
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		b.WriteString(host)
		if u.settings["port"] != "" {
			b.WriteString(":" + ports[i])
		}
	}
	return true
}

// GoString implements fmt.GoStringer.
func (u *URL) GoString() string { return u.String() }

// LogValue implements slog.LogValuer.
func (u *URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// MarshalText implements encoding.TextMarshaler.
func (u *URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }
