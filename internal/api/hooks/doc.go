// Package hooks is what speaks with other programs and with people beside the API: webhooks that start runs, notifications of what happens to runs, and links by
// which a person answers a wait.
//
// It refuses to take a definition from a webhook (SEC2), to tell an unknown path from a wrong signature, to change anything by GET, and to keep a secret in a
// readable form in the store.
//
// The flow of a webhook ([Hooks.Receive]):
//
//  1. The body is read, whether or not the webhook exists. The webhook is looked for by the digest of its path, its secrets are opened, and the signature is verified; where there is
//     no webhook, against a random key.
//  2. The delivery is kept by its id, and where nothing but the body is signed by that. The run's id follows from it, so that the store refuses
//     a second run, also from another server (SEC18).
//  3. The published version is loaded and started with the body as its input (P38).
//
// The flow of a notification ([Hooks.Tend]): the feed of a service gives what happened, none missing; notifications of it and the place in the feed are written
// in one transaction; another loop sends what is due, signed as Standard Webhooks wants it, until the endpoint takes it or the tries are used up. Each is sent
// at least once, under one id.
//
// The flow of a link ([Hooks.Approve]): its token says which wait of which run, as a digest of all that is shown; GET shows a page, and the form of that page,
// sent by POST with the token in it, answers (P34, SEC12).
//
// Invariants: everything of a namespace lies in its own store (SEC10); secrets and links depend on the key file beside it (ADR 28); no answer but the page of a
// link is HTML, and that page holds no script (SEC15).
package hooks
