// Package page serves the page of Hocket: the files of a single-page application, to everyone who reaches the server.
//
// It refuses to know runs, callers and sessions. The files hold no data and no secret, so that no token is asked for; all that the page shows it asks of the HTTP API, with
// the rights of its session (ADR 110).
//
// The flow: [New] reads the files once, writes the path of the server's public address into index.html, and packs what is worth it. A route of the application, such as
// `/runs/ID`, gives index.html, in which each answer has a nonce of its own that its policy names; a file is answered with the tag of its content, packed where the
// client takes that. index.html names the files below `/assets/` by addresses with the tag of all of them, which browsers keep for good, so that a page that is opened again loads none of them; without it
// they are asked for each time. There is nothing at other paths below `/assets/`.
//
// Invariants: no answer depends on more of a request than its path, its Accept-Encoding and its conditions; nothing of a request is written into an answer. The policy of
// index.html lets no script run but those of this server, and no request leave for another one (SEC15).
package page
