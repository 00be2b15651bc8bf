// Package page serves the page of Hocket: the files of a single-page application, to everyone who
// can reach the server.
//
// It has no access to runs, callers and sessions. The files contain no data and no secrets, so that
// no token is required; the page fetches everything that it shows from the HTTP API, with the
// permissions of its session (ADR 110).
//
// The flow: [New] reads the files once, writes the path of the server's public URL into index.html,
// and compresses the files that are worth it. A route of the application, such as `/runs/ID`,
// serves index.html, with a new nonce in each response, which its policy names; a file is served
// with an entity tag of its content, compressed if the client accepts that. index.html refers to
// the files under `/assets/` by URLs with the tag of all of them, which browsers cache permanently,
// so that reopening the page loads none of them; files without the tag in their URL are revalidated
// each time. Other paths under `/assets/` do not exist.
//
// Invariants: a response depends on nothing of a request but its path, its Accept-Encoding and its
// conditions; nothing of a request is written into a response. The policy of index.html allows only
// scripts of this server, and only requests to this server (SEC15).
package page
