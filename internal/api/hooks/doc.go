// Package hooks connects Hocket with other programs and with people outside the API: webhooks that
// start runs, notifications of events in runs, and links with which a person answers a wait.
//
// It never accepts a definition from a webhook (SEC2), distinguishes an unknown path from a wrong
// signature, changes anything on GET, or stores a secret in readable form.
//
// The flow of a webhook ([Hooks.Receive]):
//
//  1. The body is read, whether or not the webhook exists. The webhook is looked up by the digest
//     of its path, its secrets are decrypted, and the signature is verified; if there is no
//     webhook, against a decoy key.
//  2. The delivery is stored by its id, or by the body if nothing but the body is signed. The run's
//     id is derived from it, so that the store rejects a second run, even from another server
//     (SEC18).
//  3. The published version is loaded and started with the body as its input (P38).
//
// The flow of a notification ([Hooks.Maintain]): the feed of a service yields all events without
// gaps; the notifications for them and the position in the feed are written in one transaction;
// another loop sends what is due, signed according to Standard Webhooks, until the endpoint accepts
// it or the attempts are exhausted. Each notification is sent at least once, under one id.
//
// The flow of a link ([Hooks.Approve]): its token identifies the wait and the run, as a digest of
// everything that is shown. GET shows a page, and the form of that page, sent with POST and the
// token in it, answers the wait (P34, SEC12).
//
// Invariants: all data of a namespace is in its own store (SEC10); secrets and links depend on the
// key file next to it (ADR 28); only the page of a link is HTML, and that page holds no script
// (SEC15).
package hooks
