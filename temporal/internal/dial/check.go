package dial

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hocket-run/hocket/internal/errcode"
)

// Search attributes that runs set where the namespace has them, both of type Keyword.
const (
	AttributeWorkflow = "HocketWorkflow"
	AttributeStatus   = "HocketStatus"
)

// patience bounds how long one look at the server takes.
const patience = 3 * time.Second

var errNoSecrets = errors.New("this program resolves no references")

// Check tells whether the server answers, lets this process in, and has the namespace.
//
// Errors: *errcode.Error with errcode.TemporalUnreachable, TemporalTLS, TemporalRefused or TemporalNamespace.
func (c *Conn) Check(ctx context.Context) error {
	_, err := c.describe(ctx)
	return err
}

// describe asks for the namespace.
func (c *Conn) describe(ctx context.Context) (*workflowservice.DescribeNamespaceResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d, err := c.client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.settings.Namespace})
	if err == nil && d.GetNamespaceInfo().GetState() != enums.NAMESPACE_STATE_REGISTERED {
		return nil, c.failed(errcode.TemporalNamespace, nil)
	}
	return d, c.explain(err)
}

// HasAttributes tells whether the namespace has both search attributes. Without them runs have none, and nothing else is different.
func (c *Conn) HasAttributes(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := c.client.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.settings.Namespace})
	if err != nil {
		return false, c.explain(err)
	}
	have := list.GetCustomAttributes()
	return have[AttributeWorkflow] == enums.INDEXED_VALUE_TYPE_KEYWORD && have[AttributeStatus] == enums.INDEXED_VALUE_TYPE_KEYWORD, nil
}

// Report is what a server says of itself.
type Report struct {
	// Version is that of the server, Retention how long the namespace keeps ended workflows.
	Version   string
	Retention time.Duration
	// Attributes: the namespace has both search attributes.
	Attributes bool
}

// Report asks the server for what people want to know of it. Where it cannot be used it gives what it knows and the error, which is that of Check.
func (c *Conn) Report(ctx context.Context) (Report, error) {
	var r Report
	d, err := c.describe(ctx)
	if err != nil {
		return r, err
	}
	r.Retention = d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := c.client.WorkflowService().GetSystemInfo(within, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return r, c.explain(err)
	}
	r.Version = info.GetServerVersion()
	r.Attributes, err = c.HasAttributes(ctx)
	return r, err
}

// Explain gives what an error of a request to the server means, with a code of package errcode where it is about the server and not about the request; nil for nil.
func (c *Conn) Explain(err error) error { return c.explain(err) }

func (c *Conn) explain(err error) error {
	if err == nil {
		return nil
	}
	if missing := new(serviceerror.NamespaceNotFound); errors.As(err, &missing) {
		return c.failed(errcode.TemporalNamespace, nil)
	}
	switch status.Code(convert(err)) {
	case codes.PermissionDenied, codes.Unauthenticated:
		return c.failed(errcode.TemporalRefused, cause{"it refused the credentials", err})
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
	default:
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	text, secured := reason(err, c.settings.IsTLS())
	if secured {
		return c.failed(errcode.TemporalTLS, cause{text, err})
	}
	return c.failed(errcode.TemporalUnreachable, cause{text, err})
}

// convert gives an error of the SDK the form of gRPC, which has a code.
func convert(err error) error {
	if e, ok := errors.AsType[serviceerror.ServiceError](err); ok {
		return e.Status().Err()
	}
	return err
}

// failed makes an error about this server.
func (c *Conn) failed(code errcode.Code, err error) error {
	return errcode.New(code, errcode.Fields{"address": c.settings.Address, "namespace": c.settings.Namespace}, err)
}

// cause is an error with a text of its own: those of gRPC have several sentences, and those of servers may repeat what was sent.
type cause struct {
	text string
	err  error
}

func (c cause) Error() string { return c.text }
func (c cause) Unwrap() error { return c.err }

// reasons are words in errors of connections, with what they mean. The first one that is found counts.
var reasons = []struct {
	words, text string
	secured     bool
}{
	{"x509: certificate signed by unknown authority", "its certificate is of an unknown authority", true},
	{"x509: certificate has expired", "its certificate is expired or not valid yet", true},
	{"x509: certificate is valid for", "its certificate is for another name", true},
	{"x509: cannot validate certificate", "its certificate is for another name", true},
	{"x509:", "its certificate is not valid", true},
	{"first record does not look like a TLS handshake", "it does not use TLS", true},
	{"certificate required", "it asks for the certificate of a client", true},
	{"bad certificate", "it does not accept the certificate of this process", true},
	{"unknown certificate authority", "it does not accept the certificate of this process", true},
	{"unknown authority", "it does not accept the certificate of this process", true},
	{"authentication handshake failed", "the TLS handshake failed", true},
	{"no such host", "its host is not known", false},
	{"no children to pick from", "its host is not known", false}, // the balancer has no address
	{"connection refused", "nothing accepts connections there", false},
	{"actively refused", "nothing accepts connections there", false}, // Windows
}

// closed are words in errors of connections that the server closed before it had answered. With TLS its reason may be lost on the way.
var closed = []string{"error reading server preface", "broken pipe", "connection reset by peer"}

// reason gives why a connection failed, in a few words, and whether that is about TLS, which the connection used or not.
func reason(err error, used bool) (text string, secured bool) {
	full := err.Error()
	for _, r := range reasons {
		if strings.Contains(full, r.words) {
			return r.text, r.secured
		}
	}
	switch {
	case !slices.ContainsFunc(closed, func(words string) bool { return strings.Contains(full, words) }):
		return "it did not answer in time", false
	case used:
		return "it closed the connection, as servers do that accept no connection without the certificate of a client", true
	}
	return "it closed the connection, as servers do that accept no connection without TLS", false
}

func settingError(problem string) error {
	return errcode.New(errcode.TemporalSetting, errcode.Fields{"problem": problem}, nil)
}

// pathCause gives the text of an error about a file, with the path of the user.
func pathCause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Path + ": " + e.Err.Error()
	}
	return err.Error()
}
