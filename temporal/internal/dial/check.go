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

// Search attributes that are set on runs if the namespace has them, both of type Keyword.
const (
	AttributeWorkflow = "HocketWorkflow"
	AttributeStatus   = "HocketStatus"
)

// checkTimeout is the maximum duration of one check of the server.
const checkTimeout = 3 * time.Second

var errNoSecrets = errors.New("this program resolves no references")

// Check checks that the server responds, accepts this process, and has the namespace.
//
// It returns an *errcode.Error with errcode.TemporalUnreachable, TemporalTLS, TemporalRefused or
// TemporalNamespace.
func (c *Conn) Check(ctx context.Context) error {
	_, err := c.describe(ctx)
	return err
}

// describe requests the description of the namespace.
func (c *Conn) describe(ctx context.Context) (*workflowservice.DescribeNamespaceResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	d, err := c.client.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: c.settings.Namespace})
	if err == nil && d.GetNamespaceInfo().GetState() != enums.NAMESPACE_STATE_REGISTERED {
		return nil, c.failed(errcode.TemporalNamespace, nil)
	}
	return d, c.explain(err)
}

// HasAttributes reports whether the namespace has both search attributes. Without them, runs have
// no attributes; there is no other difference.
func (c *Conn) HasAttributes(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	list, err := c.client.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: c.settings.Namespace})
	if err != nil {
		return false, c.explain(err)
	}
	have := list.GetCustomAttributes()
	return have[AttributeWorkflow] == enums.INDEXED_VALUE_TYPE_KEYWORD &&
		have[AttributeStatus] == enums.INDEXED_VALUE_TYPE_KEYWORD, nil
}

// Report describes a server.
type Report struct {
	// Version is the version of the server, and Retention how long the namespace keeps ended
	// workflows.
	Version   string
	Retention time.Duration
	// Attributes is set if the namespace has both search attributes.
	Attributes bool
}

// Report returns information about the server for people. If the server is not usable, it returns
// what is known together with the error of Check.
func (c *Conn) Report(ctx context.Context) (Report, error) {
	var r Report
	d, err := c.describe(ctx)
	if err != nil {
		return r, err
	}
	r.Retention = d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	within, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, err := c.client.WorkflowService().GetSystemInfo(within, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return r, c.explain(err)
	}
	r.Version = info.GetServerVersion()
	r.Attributes, err = c.HasAttributes(ctx)
	return r, err
}

// Explain converts an error of a request to the server. If the error is about the server and not
// about the request, the result has a code of package errcode. Explain returns nil for nil.
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

// convert converts an error of the SDK into a gRPC error, which has a code.
func convert(err error) error {
	if e, ok := errors.AsType[serviceerror.ServiceError](err); ok {
		return e.Status().Err()
	}
	return err
}

// failed returns an error about this server.
func (c *Conn) failed(code errcode.Code, err error) error {
	return errcode.New(code, errcode.Fields{"address": c.settings.Address, "namespace": c.settings.Namespace}, err)
}

// cause is an error with its own message, because gRPC errors have several sentences and those of
// servers may repeat what was sent.
type cause struct {
	text string
	err  error
}

func (c cause) Error() string { return c.text }
func (c cause) Unwrap() error { return c.err }

// reasons maps phrases in connection errors to their meaning. The first match is used.
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

// closed lists phrases in errors of connections that the server closed before it responded. With
// TLS its reason may get lost on the way.
var closed = []string{"error reading server preface", "broken pipe", "connection reset by peer"}

// reason returns in a few words why a connection failed, and whether TLS, which the connection may
// or may not have used, is the cause.
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
		return "it closed the connection, as servers do that accept no connection without the certificate of a client",
			true
	}
	return "it closed the connection, as servers do that accept no connection without TLS", false
}

func settingError(problem string) error {
	return errcode.New(errcode.TemporalSetting, errcode.Fields{"problem": problem}, nil)
}

// pathCause returns the message of an error about a file, with the path as given by the user.
func pathCause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Path + ": " + e.Err.Error()
	}
	return err.Error()
}
