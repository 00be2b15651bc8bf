package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"
)

// admin creates what tests need in the server of this process.
type admin struct{ c client.Client }

// dial connects to the server, and waits until it answers.
func dial(address string, o *options) (*admin, error) {
	opts := client.Options{HostPort: address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
	if o.tlsCert != "" {
		pair, err := tls.LoadX509KeyPair(o.tlsCert, o.tlsKey)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(o.tlsCA)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", o.tlsCA)
		}
		opts.ConnectionOptions.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots,
			ServerName: o.tlsName}
	}
	if o.apiKey != "" {
		opts.Credentials = client.NewAPIKeyStaticCredentials(o.apiKey)
		opts.ConnectionOptions.TLSDisabled = o.tlsCert == ""
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := client.Dial(opts)
		if err == nil {
			return &admin{c}, nil
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("the server does not answer: %w", err)
		}
	}
}

// register adds a namespace, and waits until workflows can be listed in it. An existing one is left
// unchanged.
func (a *admin) register(ctx context.Context, name string) error {
	service := a.c.WorkflowService()
	_, err := service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{Namespace: name,
		WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)})
	if exists := new(serviceerror.NamespaceAlreadyExists); err != nil && !errors.As(err, &exists) {
		return err
	}
	return retry(ctx, func() error {
		_, err := service.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: name})
		return err
	})
}

// addAttributes adds the search attributes that Hocket sets if a namespace has them, and waits
// until they can be used.
func (a *admin) addAttributes(ctx context.Context, name string) error {
	const workflow, status = "HocketWorkflow", "HocketStatus"
	_, err := a.c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: name, SearchAttributes: map[string]enums.IndexedValueType{workflow: enums.INDEXED_VALUE_TYPE_KEYWORD,
			status: enums.INDEXED_VALUE_TYPE_KEYWORD},
	})
	if err != nil {
		return err
	}
	return retry(ctx, func() error {
		_, err := a.c.WorkflowService().CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Namespace: name, Query: workflow + " = 'x' AND " + status + " = 'x'",
		})
		return err
	})
}

// retry repeats a request until it succeeds or the context ends.
func retry(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}
